//! Distinct random numbers without an allocation per sample.

use super::Stream;

/// A sampler without repetition. Floyd's algorithm (Bentley and Floyd: "A sample of brilliance",
/// 1987) needs exactly one draw per number, even if the sample is nearly the whole range. The set of
/// drawn numbers is reused for each sample and emptied by a stamp.
#[derive(Clone, Debug)]
pub struct DistinctSampler {
    slots: Vec<Slot>,
    stamp: u32,
}

#[derive(Clone, Copy, Debug, Default)]
struct Slot {
    value: u64,
    stamp: u32,
}

impl DistinctSampler {
    /// Allocate room for samples of up to `largest` numbers.
    pub fn new(largest: usize) -> Self {
        Self {
            slots: vec![Slot::default(); (largest * 2).next_power_of_two()],
            stamp: 0,
        }
    }

    /// Call `take` with `count` distinct numbers of `1..=bound`, in no particular order. `count` must
    /// not exceed `bound` or the largest sample.
    pub fn sample(
        &mut self,
        stream: &mut Stream,
        count: u64,
        bound: u64,
        mut take: impl FnMut(u64),
    ) {
        self.forget();
        for last in bound - count + 1..=bound {
            let drawn = 1 + stream.below(last);
            let value = if self.insert(drawn) {
                drawn
            } else {
                self.insert(last);
                last
            };
            take(value);
        }
    }

    fn forget(&mut self) {
        self.stamp = self.stamp.wrapping_add(1);
        if self.stamp == 0 {
            self.slots.fill(Slot::default());
            self.stamp = 1;
        }
    }

    /// Return whether `value` was new. Probing is linear: the table is at most half full.
    fn insert(&mut self, value: u64) -> bool {
        let mask = self.slots.len() - 1;
        let mut place = (value.wrapping_mul(super::GAMMA) >> 32) as usize & mask;
        loop {
            let slot = &mut self.slots[place];
            if slot.stamp != self.stamp {
                *slot = Slot {
                    value,
                    stamp: self.stamp,
                };
                return true;
            }
            if slot.value == value {
                return false;
            }
            place = (place + 1) & mask;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::Sequence;
    use super::*;
    use std::collections::HashSet;

    fn sample(sampler: &mut DistinctSampler, index: u64, count: u64, bound: u64) -> Vec<u64> {
        let mut values = Vec::new();
        let mut stream = Sequence::new(5, "sample").stream(index);
        sampler.sample(&mut stream, count, bound, |value| values.push(value));
        values
    }

    #[test]
    fn samples_are_distinct_and_in_range() {
        let mut sampler = DistinctSampler::new(100);
        for index in 0..1000 {
            let values = sample(&mut sampler, index, 100, 150);
            let different: HashSet<_> = values.iter().collect();
            assert_eq!(different.len(), 100);
            assert!(values.iter().all(|value| (1..=150).contains(value)));
        }
    }

    #[test]
    fn a_sample_of_everything_is_everything() {
        let mut values = sample(&mut DistinctSampler::new(10), 0, 10, 10);
        values.sort_unstable();
        assert_eq!(values, (1..=10).collect::<Vec<_>>());
    }

    #[test]
    fn every_number_is_equally_likely() {
        let mut sampler = DistinctSampler::new(3);
        let mut seen = [0u32; 10];
        for index in 0..20_000 {
            for value in sample(&mut sampler, index, 3, 10) {
                seen[value as usize - 1] += 1;
            }
        }
        // 6,000 expected; the standard deviation is 65.
        assert!(
            seen.iter().all(|count| count.abs_diff(6_000) < 400),
            "{seen:?}"
        );
    }

    #[test]
    fn an_exhausted_stamp_does_not_resurrect_old_samples() {
        let mut sampler = DistinctSampler::new(10);
        sampler.stamp = u32::MAX - 1;
        for index in 0..4 {
            assert_eq!(sample(&mut sampler, index, 10, 10).len(), 10);
        }
    }
}
