//! Dates of the Gregorian calendar.

use std::fmt;
use std::ops::RangeInclusive;

/// A date and a time of day, without a time zone.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DateTime {
    pub year: u16,
    pub month: u8,
    pub day: u8,
    pub hour: u8,
    pub minute: u8,
    pub second: u8,
}

impl DateTime {
    /// The seconds since 1970 of the years from 0 to 9999.
    pub const SECONDS: RangeInclusive<i64> = -62_167_219_200..=253_402_300_799;

    /// Convert seconds since 1970, for any four-digit year, by Howard Hinnant's `civil_from_days`
    /// ("chrono-Compatible Low-Level Date Algorithms").
    pub fn of(seconds: i64) -> Self {
        const DAY: i64 = 86_400;
        const DAYS_OF_ERA: i64 = 146_097;
        const DAYS_TO_1970: i64 = 719_468;
        let days = seconds.div_euclid(DAY) + DAYS_TO_1970;
        let time = seconds.rem_euclid(DAY);
        let era = days.div_euclid(DAYS_OF_ERA);
        let day_of_era = days.rem_euclid(DAYS_OF_ERA);
        let year_of_era =
            (day_of_era - day_of_era / 1460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
        let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
        // The years of this formula begin in March.
        let month = (5 * day_of_year + 2) / 153;
        let day = day_of_year - (153 * month + 2) / 5 + 1;
        let (month, next_year) = if month < 10 {
            (month + 3, 0)
        } else {
            (month - 9, 1)
        };
        Self {
            year: (year_of_era + era * 400 + next_year) as u16,
            month: month as u8,
            day: day as u8,
            hour: (time / 3600) as u8,
            minute: (time / 60 % 60) as u8,
            second: (time % 60) as u8,
        }
    }
}

impl fmt::Display for DateTime {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            out,
            "{:04}-{:02}-{:02} {:02}:{:02}:{:02}",
            self.year, self.month, self.day, self.hour, self.minute, self.second
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dates_are_those_of_the_calendar() {
        for (seconds, expected) in [
            (0, "1970-01-01 00:00:00"),
            (951_782_400, "2000-02-29 00:00:00"),
            (1_704_067_199, "2023-12-31 23:59:59"),
            (1_709_251_199, "2024-02-29 23:59:59"),
            (1_709_251_200, "2024-03-01 00:00:00"),
            (-1, "1969-12-31 23:59:59"),
            (4_107_542_400, "2100-03-01 00:00:00"),
            (*DateTime::SECONDS.start(), "0000-01-01 00:00:00"),
            (*DateTime::SECONDS.end(), "9999-12-31 23:59:59"),
        ] {
            assert_eq!(DateTime::of(seconds).to_string(), expected);
        }
    }
}
