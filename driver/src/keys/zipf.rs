//! Bounded Zipfian keys.

use super::Stream;

/// A source of keys of `1..=bound`; the `r`-th most frequent key has a probability proportional to
/// `r^-exponent`.
///
/// Rejection-inversion (Hörmann and Derflinger: "Rejection-inversion to generate variates from
/// monotone discrete distributions", ACM TOMACS 6(3), 1996): constant time and no table, for any
/// bound. The ranks are then spread over the key space by a fixed permutation; otherwise the
/// hottest rows would share a page.
#[derive(Clone, Debug)]
pub struct Zipf {
    bound: u64,
    exponent: f64,
    /// The integral of the density's hat at the left end, 1.5, less the mass of rank 1.
    area_low: f64,
    /// The same at the right end, `bound` + 0.5.
    area_high: f64,
    /// The distance from the hat's inverse at which a candidate is accepted immediately.
    squeeze: f64,
    stride: u64,
}

impl Zipf {
    /// `exponent` is positive and not 1, `bound` at least 1.
    pub fn new(bound: u64, exponent: f64) -> Self {
        let mut zipf = Self {
            bound,
            exponent,
            area_low: 0.0,
            area_high: 0.0,
            squeeze: 0.0,
            stride: scattering_stride(bound),
        };
        zipf.area_low = zipf.area(1.5) - 1.0;
        zipf.area_high = zipf.area(bound as f64 + 0.5);
        zipf.squeeze = 2.0 - zipf.inverse_area(zipf.area(2.5) - zipf.density(2.0));
        zipf
    }

    /// Return the next key, scattered.
    pub fn key(&self, stream: &mut Stream) -> u64 {
        let rank = self.rank(stream);
        1 + ((u128::from(rank) * u128::from(self.stride)) % u128::from(self.bound)) as u64
    }

    /// Return the next rank; 1 is the most frequent.
    pub fn rank(&self, stream: &mut Stream) -> u64 {
        loop {
            let area = self.area_high + stream.unit() * (self.area_low - self.area_high);
            let point = self.inverse_area(area);
            let rank = point.round().clamp(1.0, self.bound as f64);
            if rank - point <= self.squeeze || area >= self.area(rank + 0.5) - self.density(rank) {
                return rank as u64;
            }
        }
    }

    fn density(&self, x: f64) -> f64 {
        x.powf(-self.exponent)
    }

    /// Return the antiderivative of the density.
    fn area(&self, x: f64) -> f64 {
        let power = 1.0 - self.exponent;
        x.powf(power) / power
    }

    fn inverse_area(&self, area: f64) -> f64 {
        let power = 1.0 - self.exponent;
        (area * power).powf(1.0 / power)
    }
}

/// Return a number coprime to `bound`, near its golden section: multiplying by it permutes the ranks
/// and separates neighbours widely.
fn scattering_stride(bound: u64) -> u64 {
    let golden = (bound as f64 * 0.618_033_988_749_895) as u64;
    (golden.max(1)..)
        .find(|&stride| greatest_common_divisor(stride, bound) == 1)
        .unwrap_or(1)
}

fn greatest_common_divisor(a: u64, b: u64) -> u64 {
    if b == 0 {
        a
    } else {
        greatest_common_divisor(b, a % b)
    }
}

#[cfg(test)]
mod tests {
    use super::super::Sequence;
    use super::*;
    use std::collections::HashSet;

    #[test]
    fn frequencies_follow_the_law() {
        let (bound, exponent, draws) = (100u64, 0.8, 1_000_000u32);
        let zipf = Zipf::new(bound, exponent);
        let mut stream = Sequence::new(3, "zipf").stream(0);
        let mut seen = vec![0u32; bound as usize + 1];
        for _ in 0..draws {
            seen[zipf.rank(&mut stream) as usize] += 1;
        }
        let mass: f64 = (1..=bound).map(|rank| (rank as f64).powf(-exponent)).sum();
        for rank in 1..=bound {
            let share = (rank as f64).powf(-exponent) / mass;
            let expected = f64::from(draws) * share;
            let deviation = (f64::from(draws) * share * (1.0 - share)).sqrt();
            let distance = (f64::from(seen[rank as usize]) - expected).abs();
            assert!(
                distance < 5.0 * deviation,
                "rank {rank}: {distance} of {expected}"
            );
        }
    }

    #[test]
    fn scattering_is_a_permutation_that_separates_neighbours() {
        for bound in [1u64, 2, 3, 10, 1000, 99_991, 100_000] {
            let stride = scattering_stride(bound);
            let keys: HashSet<_> = (1..=bound).map(|rank| rank * stride % bound).collect();
            assert_eq!(keys.len() as u64, bound);
        }
        assert!(scattering_stride(100_000) > 10_000);
    }

    #[test]
    fn keys_stay_in_range() {
        for bound in [1u64, 2, 7] {
            let zipf = Zipf::new(bound, 0.8);
            let mut stream = Sequence::new(3, "zipf").stream(bound);
            assert!((0..1000).all(|_| (1..=bound).contains(&zipf.key(&mut stream))));
        }
    }
}
