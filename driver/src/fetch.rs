//! Random reads of a file that bypass the kernel's cache: the speed of the disk for page reads.

use std::fs::{File, OpenOptions};
use std::io;
use std::os::unix::fs::{FileExt as _, OpenOptionsExt as _};
use std::thread;
use std::time::{Duration, Instant};

use rustix::fs::{fadvise, fdatasync, seek, Advice, OFlags, SeekFrom};
use rustix::io::Errno;

use crate::keys::{Sequence, Stream};
use crate::measure;
use crate::protocol::job::Fetch;
use crate::wire::Failure;

/// The block size of most devices; buffers of direct reads are aligned to it.
const ALIGNMENT: usize = 4096;
const MOST_THREADS: u32 = 10_000;

/// The reads of all threads.
pub struct Fetched {
    pub reads: u64,
    /// Time from the first read to the end of the last one.
    pub seconds: f64,
}

/// Read pages at random until the time is over, with the job's number of threads.
pub fn fetch(job: &Fetch) -> Result<Fetched, Failure> {
    if !measure::is_duration(job.seconds) {
        return Err(Failure::usage("seconds must be positive"));
    }
    if job.page_bytes == 0 || !(1..=MOST_THREADS).contains(&job.threads) {
        return Err(Failure::usage(format!(
            "a fetch needs a positive page size and 1 to {MOST_THREADS} threads"
        )));
    }
    let pages = Pages::open(job).map_err(|error| {
        Failure::connection(format!("cannot read {} directly: {error}", job.file))
    })?;
    let begun = Instant::now();
    let end = begun + Duration::from_secs_f64(job.seconds);
    let threads = 0..u64::from(job.threads);
    let reads = thread::scope(|scope| {
        let readers: Vec<_> = threads
            .map(|number| {
                let places = Sequence::new(job.seed, "fetch").stream(number);
                let pages = &pages;
                scope.spawn(move || pages.read_until(end, places))
            })
            .collect();
        readers
            .into_iter()
            .map(|reader| reader.join().expect("a reader does not panic"))
            .sum::<io::Result<u64>>()
    });
    let reads = reads
        .map_err(|error| Failure::connection(format!("reading {} failed: {error}", job.file)))?;
    Ok(Fetched {
        reads,
        seconds: begun.elapsed().as_secs_f64(),
    })
}

/// The written pages of a file: a file system answers reads of preallocated space without the disk.
struct Pages {
    file: File,
    bytes: usize,
    runs: Vec<Run>,
    count: u64,
}

/// Adjacent pages.
struct Run {
    first: u64,
    /// Pages of all runs up to the end of this one.
    count: u64,
}

impl Pages {
    fn open(job: &Fetch) -> io::Result<Self> {
        let file = OpenOptions::new()
            .read(true)
            .custom_flags(OFlags::DIRECT.bits() as i32)
            .open(&job.file)?;
        let page = u64::from(job.page_bytes);
        let mut runs = Vec::new();
        let mut count = 0;
        for (start, end) in written(&file)? {
            let first = start.div_ceil(page);
            let pages = (end / page).saturating_sub(first);
            if pages > 0 {
                count += pages;
                runs.push(Run { first, count });
            }
        }
        if count == 0 {
            return Err(io::Error::other("no page of it has been written"));
        }
        Ok(Self {
            file,
            bytes: job.page_bytes as usize,
            runs,
            count,
        })
    }

    /// Return the offset of a page in the file; `number` is its index among the written ones.
    fn start(&self, number: u64) -> u64 {
        let run = self.runs.partition_point(|run| run.count <= number);
        let before = run.checked_sub(1).map_or(0, |last| self.runs[last].count);
        (self.runs[run].first + number - before) * self.bytes as u64
    }

    /// Return the number of pages read, at least one.
    fn read_until(&self, end: Instant, mut places: Stream) -> io::Result<u64> {
        let mut memory = vec![0; self.bytes + ALIGNMENT];
        let aligned = memory.as_ptr().align_offset(ALIGNMENT);
        let page = &mut memory[aligned..aligned + self.bytes];
        let mut reads = 0;
        loop {
            let start = self.start(places.below(self.count));
            self.file.read_exact_at(page, start)?;
            reads += 1;
            if Instant::now() >= end {
                return Ok(reads);
            }
        }
    }
}

/// Return the start and the end of each written part of a file; the whole file if the file system
/// does not report them.
fn written(file: &File) -> io::Result<Vec<(u64, u64)>> {
    // Cached pages count as data even if they have never been written, so write them first.
    fdatasync(file)?;
    fadvise(file, 0, None, Advice::DontNeed)?;
    let length = file.metadata()?.len();
    let mut parts = Vec::new();
    let mut end = 0;
    loop {
        let start = match seek(file, SeekFrom::Data(end)) {
            Ok(start) => start,
            Err(Errno::NXIO) => return Ok(parts),
            Err(Errno::INVAL | Errno::OPNOTSUPP) => return Ok(vec![(0, length)]),
            Err(error) => return Err(error.into()),
        };
        end = seek(file, SeekFrom::Hole(start))?;
        parts.push((start, end));
    }
}

#[cfg(test)]
mod tests {
    use std::path::PathBuf;

    use rustix::fs::{fallocate, FallocateFlags};

    use super::*;

    /// A file on a disk, removed at the end.
    struct Scratch(PathBuf);

    impl Scratch {
        fn new(name: &str) -> Self {
            let folder = std::env::current_dir().unwrap().join("../target");
            Self(folder.join(format!("fetch-{name}-{}", std::process::id())))
        }

        fn job(&self) -> Fetch {
            job(self.0.to_str().unwrap(), 0.05)
        }
    }

    impl Drop for Scratch {
        fn drop(&mut self) {
            let _ = std::fs::remove_file(&self.0);
        }
    }

    fn job(file: &str, seconds: f64) -> Fetch {
        Fetch {
            id: 1,
            file: file.into(),
            page_bytes: 8192,
            threads: 2,
            seconds,
            seed: 1,
        }
    }

    fn message(result: Result<Fetched, Failure>) -> String {
        match result {
            Ok(_) => panic!("nothing was refused"),
            Err(failure) => failure.message().to_owned(),
        }
    }

    #[test]
    fn every_thread_reads_until_the_time_is_over() {
        let file = Scratch::new("whole");
        std::fs::write(&file.0, vec![7; 1 << 20]).unwrap();
        let fetched = fetch(&file.job());
        let fetched = fetched.unwrap_or_else(|failure| panic!("{}", failure.message()));
        assert!(fetched.reads >= 2, "{}", fetched.reads);
        assert!(
            (0.05..5.0).contains(&fetched.seconds),
            "{}",
            fetched.seconds
        );
    }

    #[test]
    fn only_pages_that_were_written_are_read() {
        let file = Scratch::new("allocated");
        let pages = 1 << 20 >> 13;
        let writer = File::create(&file.0).unwrap();
        fallocate(&writer, FallocateFlags::empty(), 0, 1 << 20).unwrap();
        // The partially written page does not count.
        for (start, bytes) in [(0, 3 * 8192), (40 * 8192 + 4096, 2 * 8192)] {
            writer.write_all_at(&vec![7; bytes], start).unwrap();
        }
        let cached = std::fs::read(&file.0).unwrap();
        assert_eq!(cached.len() / 8192, pages);
        let found = Pages::open(&file.job()).unwrap();
        let places: Vec<_> = (0..found.count).map(|n| found.start(n) / 8192).collect();
        assert_eq!(places, [0, 1, 2, 41]);
        assert!(fetch(&file.job()).is_ok());
    }

    #[test]
    fn a_file_without_a_written_page_says_so() {
        let file = Scratch::new("unwritten");
        let writer = File::create(&file.0).unwrap();
        fallocate(&writer, FallocateFlags::empty(), 0, 1 << 20).unwrap();
        let refused = message(fetch(&file.job()));
        assert!(refused.ends_with("directly: no page of it has been written"));
    }

    #[test]
    fn what_cannot_be_read_directly_says_so() {
        let missing = message(fetch(&job("/nowhere/file", 0.05)));
        assert!(missing.starts_with("cannot read /nowhere/file directly: No such file"));
        let nothing = message(fetch(&job("/dev/null", 0.0)));
        assert_eq!(nothing, "seconds must be positive");
    }
}
