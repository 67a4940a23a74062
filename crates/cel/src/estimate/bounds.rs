//! Sizes and costs between a least and a most; nothing overflows.

/// What an evaluation may cost.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CostEstimate {
    /// At least.
    pub min: u64,
    /// At most.
    pub max: u64,
}

impl CostEstimate {
    /// Most that one rule of a custom resource may cost.
    pub const RULE_MAX: u64 = 10_000_000;

    /// Most that all rules of a custom resource may cost together.
    pub const SCHEMA_MAX: u64 = 100_000_000;

    pub(super) const ZERO: Self = Self { min: 0, max: 0 };

    pub(super) fn fixed(cost: u64) -> Self {
        Self {
            min: cost,
            max: cost,
        }
    }

    pub(super) fn plus(self, other: Self) -> Self {
        Self {
            min: self.min.saturating_add(other.min),
            max: self.max.saturating_add(other.max),
        }
    }

    pub(super) fn times(self, other: Self) -> Self {
        Self {
            min: self.min.saturating_mul(other.min),
            max: self.max.saturating_mul(other.max),
        }
    }

    pub(super) fn union(self, other: Self) -> Self {
        Self {
            min: self.min.min(other.min),
            max: self.max.max(other.max),
        }
    }

    pub(super) fn scaled(self, factor: f64) -> Self {
        Self {
            min: scale(self.min, factor),
            max: scale(self.max, factor),
        }
    }
}

/// How large something may be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Size {
    pub(super) min: u64,
    pub(super) max: u64,
}

impl Size {
    pub(super) const UNKNOWN: Self = Self {
        min: 0,
        max: u64::MAX,
    };

    pub(super) fn fixed(size: u64) -> Self {
        Self {
            min: size,
            max: size,
        }
    }

    pub(super) fn plus(self, other: Self) -> Self {
        Self {
            min: self.min.saturating_add(other.min),
            max: self.max.saturating_add(other.max),
        }
    }

    pub(super) fn times(self, other: Self) -> Self {
        Self {
            min: self.min.saturating_mul(other.min),
            max: self.max.saturating_mul(other.max),
        }
    }

    pub(super) fn union(self, other: Self) -> Self {
        Self {
            min: self.min.min(other.min),
            max: self.max.max(other.max),
        }
    }

    pub(super) fn scaled(self, factor: f64) -> CostEstimate {
        CostEstimate {
            min: scale(self.min, factor),
            max: scale(self.max, factor),
        }
    }

    pub(super) fn times_cost(self, cost: CostEstimate) -> CostEstimate {
        CostEstimate {
            min: self.min.saturating_mul(cost.min),
            max: self.max.saturating_mul(cost.max),
        }
    }
}

/// How large the keys and values of a list or map may be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct EntrySize {
    pub(super) list: bool,
    pub(super) key: Size,
    pub(super) value: Size,
}

impl EntrySize {
    pub(super) fn union(self, other: Self) -> Self {
        Self {
            list: self.list,
            key: self.key.union(other.key),
            value: self.value.union(other.value),
        }
    }
}

/// A number times a factor, rounded up; at most what fits.
fn scale(number: u64, factor: f64) -> u64 {
    (number as f64 * factor).ceil() as u64
}
