//! Permutations of a range in an order that looks random.

use super::{mix, Sequence};

/// Rounds that make a balanced Feistel network a strong pseudo-random permutation (Luby and Rackoff:
/// "How to construct pseudorandom permutations from pseudorandom functions", 1988).
const ROUNDS: usize = 4;

/// A permutation of `0..bound`, one of many that a key selects.
///
/// A Feistel network permutes the smallest even number of bits that holds the range; a number outside
/// of the range is permuted again until it is inside, at most four times on average (cycle walking;
/// Black and Rogaway: "Ciphers with arbitrary finite domains", 2002). It has no state, so the
/// positions can be visited in any order. Multiplication by a coprime stride would be a permutation
/// too, but a lattice: for some bounds it keeps returning to neighbours of earlier positions, for
/// others it visits all pages of a table before it visits one again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Permutation {
    bound: u64,
    /// Bits of one half of the network.
    bits: u32,
    keys: [u64; ROUNDS],
}

impl Permutation {
    /// `bound` is at least 1 and at most 2^63.
    pub fn new(bound: u64, sequence: Sequence) -> Self {
        let mut stream = sequence.stream(0);
        let needed = u64::BITS - (bound - 1).leading_zeros();
        Self {
            bound,
            bits: needed.div_ceil(2).max(1),
            keys: std::array::from_fn(|_| stream.draw()),
        }
    }

    /// Return the number at `place`, modulo the bound.
    pub fn at(&self, place: u64) -> u64 {
        let mut number = self.encipher(place % self.bound);
        while number >= self.bound {
            number = self.encipher(number);
        }
        number
    }

    fn encipher(&self, number: u64) -> u64 {
        let mask = (1 << self.bits) - 1;
        let halves = (number >> self.bits, number & mask);
        let (left, right) = self.keys.iter().fold(halves, |(left, right), key| {
            (right, left ^ (mix(key ^ right) & mask))
        });
        left << self.bits | right
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashSet;

    fn permutation(bound: u64, seed: u64) -> Permutation {
        Permutation::new(bound, Sequence::new(seed, "permutation"))
    }

    #[test]
    fn every_number_comes_once() {
        let around_powers = [63, 64, 65, 255, 256, 257, 65_535, 65_536, 65_537];
        for bound in (1..=40).chain(around_powers).chain([99_991, 100_000]) {
            let permutation = permutation(bound, 7);
            let numbers: HashSet<_> = (0..bound).map(|place| permutation.at(place)).collect();
            assert_eq!(numbers.len() as u64, bound);
            assert!(numbers.iter().all(|&number| number < bound));
        }
    }

    #[test]
    fn the_largest_range_is_walked_within() {
        for bound in [1 << 62, (1 << 62) + 1, 1 << 63] {
            let permutation = permutation(bound, 7);
            let numbers: HashSet<_> = (0..1000).map(|place| permutation.at(place)).collect();
            assert_eq!(numbers.len(), 1000);
            assert!(numbers.iter().all(|&number| number < bound));
        }
    }

    #[test]
    fn places_beyond_the_bound_begin_again() {
        let permutation = permutation(1001, 7);
        assert!((0..1001).all(|place| permutation.at(place) == permutation.at(3 * 1001 + place)));
    }

    #[test]
    fn the_key_decides_the_order() {
        let order = |seed| {
            let permutation = permutation(1000, seed);
            (0..1000)
                .map(|place| permutation.at(place))
                .collect::<Vec<_>>()
        };
        assert_eq!(order(7), order(7));
        let (first, second) = (order(7), order(8));
        let equal = first.iter().zip(&second).filter(|(a, b)| a == b).count();
        // 1 expected.
        assert!(equal < 10, "{equal} places are alike");
    }

    #[test]
    fn numbers_are_scattered_over_pages_as_random_ones() {
        let (rows_per_page, pages) = (50, 2000);
        // The last bound is where strides of the golden section cluster most.
        for bound in [rows_per_page * pages, 99_991] {
            let permutation = permutation(bound, 7);
            let visited: HashSet<_> = (0..pages)
                .map(|place| permutation.at(place) / rows_per_page)
                .collect();
            // 2000 (1 - 1/e) = 1264 expected; the standard deviation is about 20.
            assert!(visited.len().abs_diff(1264) < 120, "{}", visited.len());
        }
    }
}
