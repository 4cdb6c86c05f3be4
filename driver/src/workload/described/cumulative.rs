//! Choices by weight.

use crate::keys::Stream;

/// A choice by weight.
#[derive(Clone)]
pub struct Cumulative {
    sums: Vec<f64>,
}

impl Cumulative {
    pub fn of(weights: &[f64]) -> Result<Self, String> {
        let valid = |weight: &f64| weight.is_finite() && *weight > 0.0;
        if weights.is_empty() || !weights.iter().all(valid) {
            return Err("weights must be positive, and at least one is needed".into());
        }
        let mut sum = 0.0;
        let sums = weights.iter().map(|weight| {
            sum += weight;
            sum
        });
        Ok(Self {
            sums: sums.collect(),
        })
    }

    pub fn len(&self) -> usize {
        self.sums.len()
    }

    /// Draw the index of a choice; a single choice uses no random number.
    pub fn draw(&self, stream: &mut Stream) -> usize {
        let last = self.sums.len() - 1;
        if last == 0 {
            return 0;
        }
        let point = stream.unit() * self.sums[last];
        self.sums.partition_point(|sum| *sum <= point).min(last)
    }
}
