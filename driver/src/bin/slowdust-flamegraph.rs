//! Draws flame graphs: reads call stacks from standard input and writes an SVG to standard output.
//!
//! A line is `outer;inner 120`, or `outer;inner 100 120` in a differential graph: the second number
//! is the width, and the colour shows the difference from the first. `--negate` shows the difference
//! in the other direction. `inferno` draws; this program adds its command line and its options.

use std::io::{self, BufWriter, Write};
use std::process::ExitCode;

use inferno::flamegraph::color::{BackgroundColor, BasicPalette, Color};
use inferno::flamegraph::{self, Options, Palette, TextTruncateDirection};
use lexopt::prelude::*;

/// Frames narrower than this percentage of the whole width are not drawn.
const MIN_WIDTH: f64 = 0.2;

const WHITE: Color = Color {
    r: 255,
    g: 255,
    b: 255,
};

fn main() -> ExitCode {
    match options().and_then(|mut options| draw(&mut options).map_err(|e| e.to_string())) {
        Ok(()) => ExitCode::SUCCESS,
        Err(message) => {
            eprintln!("slowdust-flamegraph: {message}");
            ExitCode::FAILURE
        }
    }
}

/// Return the options of a graph. The same stacks always give the same bytes.
fn options() -> Result<Options<'static>, String> {
    let mut options = Options::default();
    let mut arguments = lexopt::Parser::from_env();
    while let Some(argument) = arguments.next().map_err(|e| e.to_string())? {
        match argument {
            Long("title") => options.title = text(&mut arguments)?,
            Long("unit") => options.count_name = text(&mut arguments)?,
            Long("negate") => options.negate_differentials = true,
            other => return Err(other.unexpected().to_string()),
        }
    }
    options.colors = Palette::Basic(BasicPalette::Hot);
    options.bgcolors = Some(BackgroundColor::Flat(WHITE));
    options.deterministic = true;
    options.min_width = MIN_WIDTH;
    options.font_type = "sans-serif".to_owned();
    options.text_truncate_direction = TextTruncateDirection::Right;
    Ok(options)
}

fn text(arguments: &mut lexopt::Parser) -> Result<String, String> {
    let value = arguments.value().map_err(|e| e.to_string())?;
    value.string().map_err(|e| e.to_string())
}

fn draw(options: &mut Options) -> io::Result<()> {
    let mut output = BufWriter::new(io::stdout().lock());
    flamegraph::from_reader(options, io::stdin().lock(), &mut output)?;
    output.flush()
}
