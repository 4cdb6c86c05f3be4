//! Random values of operations from a counter-based generator, so that operation `i` of a test is the
//! same for every client and independent of the speed of earlier operations.

mod permutation;
mod sample;
mod zipf;

pub use permutation::Permutation;
pub use sample::DistinctSampler;
pub use zipf::Zipf;

/// A family of independent streams, one per operation index, identified by a seed and a purpose.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sequence {
    key: u64,
}

impl Sequence {
    pub fn new(seed: u64, purpose: &str) -> Self {
        let key = purpose
            .bytes()
            .fold(mix(seed), |key, byte| mix(key ^ u64::from(byte)));
        Self { key }
    }

    /// Return the random values of operation `index`.
    pub fn stream(&self, index: u64) -> Stream {
        Stream {
            state: mix(self.key ^ mix(index)),
        }
    }
}

/// SplitMix64 (Steele, Lea, Flood: "Fast splittable pseudorandom number generators", 2014): one
/// addition and one mix per draw, and any 64-bit number is a good starting point.
#[derive(Clone, Debug)]
pub struct Stream {
    state: u64,
}

const GAMMA: u64 = 0x9e37_79b9_7f4a_7c15;

impl Stream {
    pub fn draw(&mut self) -> u64 {
        self.state = self.state.wrapping_add(GAMMA);
        finalize(self.state)
    }

    /// Draw a number of `0..bound`, by a multiplication instead of a division (Lemire, 2019). The
    /// bias is below `bound` / 2^64, which is negligible.
    pub fn below(&mut self, bound: u64) -> u64 {
        ((u128::from(self.draw()) * u128::from(bound)) >> 64) as u64
    }

    /// Draw a number of `[0, 1)`.
    pub fn unit(&mut self) -> f64 {
        (self.draw() >> 11) as f64 / (1u64 << 53) as f64
    }

    /// Append `groups` groups of eleven random digits, separated by hyphens: the contents of the
    /// columns `c` (10 groups, 119 bytes) and `pad` (5 groups, 59 bytes).
    pub fn digit_groups(&mut self, groups: usize, text: &mut Vec<u8>) {
        for group in 0..groups {
            if group > 0 {
                text.push(b'-');
            }
            text.extend_from_slice(&digits(self.below(100_000_000_000)));
        }
    }
}

fn digits(mut number: u64) -> [u8; 11] {
    let mut digits = [b'0'; 11];
    for digit in digits.iter_mut().rev() {
        *digit += (number % 10) as u8;
        number /= 10;
    }
    digits
}

fn mix(value: u64) -> u64 {
    finalize(value.wrapping_add(GAMMA))
}

fn finalize(value: u64) -> u64 {
    let value = (value ^ (value >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let value = (value ^ (value >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    value ^ (value >> 31)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_generator_is_splitmix64() {
        let mut stream = Stream { state: 1_234_567 };
        let published = [
            6_457_827_717_110_365_317,
            3_203_168_211_198_807_973,
            9_817_491_932_198_370_423,
        ];
        assert_eq!(published, std::array::from_fn(|_| stream.draw()));
    }

    #[test]
    fn equal_keys_give_equal_streams_and_others_do_not() {
        let first = |seed, purpose, index| Sequence::new(seed, purpose).stream(index).draw();
        assert_eq!(first(7, "scan", 3), first(7, "scan", 3));
        assert_ne!(first(7, "scan", 3), first(8, "scan", 3));
        assert_ne!(first(7, "scan", 3), first(7, "insert", 3));
        assert_ne!(first(7, "scan", 3), first(7, "scan", 4));
    }

    #[test]
    fn below_reaches_every_value_about_equally() {
        let mut stream = Sequence::new(1, "uniform").stream(0);
        let mut seen = [0u32; 10];
        for _ in 0..100_000 {
            seen[stream.below(10) as usize] += 1;
        }
        // 10,000 expected; the standard deviation is 95.
        assert!(
            seen.iter().all(|count| count.abs_diff(10_000) < 500),
            "{seen:?}"
        );
    }

    #[test]
    fn digit_groups_fill_the_columns() {
        let mut text = Vec::new();
        Sequence::new(1, "text")
            .stream(0)
            .digit_groups(10, &mut text);
        let text = String::from_utf8(text).unwrap();
        assert_eq!(text.len(), 119);
        assert!(text
            .split('-')
            .all(|group| group.len() == 11 && group.bytes().all(|byte| byte.is_ascii_digit())));
    }
}
