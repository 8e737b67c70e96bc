//! The file of a backup: lines of JSON, compressed by gzip. The last line has the checksum of all others.

use std::{
    fs::File,
    io::{BufRead, BufReader, Read, Write},
    path::Path,
};

use db::transfer::{Digest, Part, TableColumns};
use flate2::{Compression, read::GzDecoder, write::GzEncoder};
use sha2::{Digest as _, Sha256};

use super::{
    Member, Mismatch,
    line::{FORMAT, Line},
};
use crate::Failure;

/// The longest line in bytes. The longest row is a part of an image.
const LONGEST_LINE: u64 = 64 << 20;

/// Writes a backup.
pub(super) struct Writer<W: Write> {
    out: GzEncoder<W>,
    hash: Sha256,
    /// The table whose rows are being written.
    table: Option<(TableColumns, Digest)>,
}

impl<W: Write> Writer<W> {
    pub(super) fn new(out: W) -> Self {
        Writer { out: GzEncoder::new(out, Compression::fast()), hash: Sha256::new(), table: None }
    }

    pub(super) fn line(&mut self, line: &Line) -> Result<(), Failure> {
        let mut text = serde_json::to_vec(line)?;
        text.push(b'\n');
        self.hash.update(&text);
        Ok(self.out.write_all(&text)?)
    }

    /// Writes a part of a database.
    pub(super) fn part(&mut self, member: &Member, part: Part) -> Result<(), Failure> {
        match part {
            Part::Versions(versions) => {
                let Member { sandbox, database } = member.clone();
                self.line(&Line::Database {
                    name: database,
                    sandbox,
                    versions: versions.into_iter().collect(),
                })
            }
            Part::Table(table) => {
                self.end_table()?;
                let TableColumns { name, columns } = table.clone();
                self.table = Some((table, Digest::default()));
                self.line(&Line::Table { name, columns })
            }
            Part::Row(row) => {
                if let Some((table, digest)) = &mut self.table {
                    digest.add(table, &row);
                }
                self.line(&Line::Row(row.into_iter().map(Into::into).collect()))
            }
        }
    }

    pub(super) fn end_table(&mut self) -> Result<(), Failure> {
        match self.table.take() {
            Some((_, digest)) => {
                self.line(&Line::EndOfTable { rows: digest.rows, checksum: digest.to_string() })
            }
            None => Ok(()),
        }
    }

    pub(super) fn finish(mut self) -> Result<W, Failure> {
        let sha256 = hexadecimal(self.hash.clone());
        self.line(&Line::End { sha256 })?;
        Ok(self.out.finish()?)
    }
}

/// Reads a backup, and checks it.
pub(super) struct Reader {
    lines: BufReader<GzDecoder<BufReader<File>>>,
    hash: Sha256,
    ended: bool,
    /// The table whose rows are being read.
    table: Option<(TableColumns, Digest)>,
}

/// What a line of a backup means.
pub(super) enum Found {
    /// The beginning of a database, and its versions.
    Database(Member, Part),
    /// A part of the last database.
    Part(Part),
    /// The digest of the table whose rows came before.
    EndOfTable(String, Digest),
    /// The first or the last line.
    Frame,
}

impl Reader {
    pub(super) fn open(path: &Path) -> Result<Self, Failure> {
        let file = File::open(path).map_err(|error| format!("cannot read {}: {error}", path.display()))?;
        let lines = BufReader::new(GzDecoder::new(BufReader::new(file)));
        Ok(Reader { lines, hash: Sha256::new(), ended: false, table: None })
    }

    /// What comes next; `None` at the end of a complete backup.
    pub(super) fn next(&mut self) -> Result<Option<Found>, Failure> {
        let mut text = Vec::new();
        (&mut self.lines).take(LONGEST_LINE).read_until(b'\n', &mut text).map_err(damaged)?;
        if text.is_empty() && self.ended {
            return Ok(None);
        }
        if text.last() != Some(&b'\n') || self.ended {
            return Err(damaged("it has no proper end"));
        }
        let before = self.hash.clone();
        self.hash.update(&text);
        self.found(serde_json::from_slice(&text).map_err(damaged)?, before).map(Some)
    }

    /// Checks a line. `before` is the checksum of the lines before it.
    fn found(&mut self, line: Line, before: Sha256) -> Result<Found, Failure> {
        Ok(match line {
            Line::Backup { format: FORMAT, .. } => Found::Frame,
            Line::Backup { format, program, .. } => {
                return Err(format!(
                    "the backup has the format {format}, and this program reads format {FORMAT}: use triptych \
                     {program}, which wrote it"
                )
                .into());
            }
            Line::Database { name, sandbox, versions } => {
                let versions = Part::Versions(versions.into_iter().collect());
                Found::Database(Member { sandbox, database: name }, versions)
            }
            Line::Table { name, columns } => {
                let table = TableColumns { name, columns };
                self.table = Some((table.clone(), Digest::default()));
                Found::Part(Part::Table(table))
            }
            Line::Row(row) => {
                let row: Vec<_> = row.into_iter().map(Into::into).collect();
                match &mut self.table {
                    Some((table, digest)) if table.columns.len() == row.len() => digest.add(table, &row),
                    _ => return Err(damaged("a row does not fit its table")),
                }
                Found::Part(Part::Row(row))
            }
            Line::EndOfTable { rows, checksum } => {
                let Some((table, digest)) = self.table.take() else {
                    return Err(damaged("a table has no beginning"));
                };
                if (digest.rows, digest.to_string()) != (rows, checksum) {
                    return Err(damaged("the rows of a table are not those that were written"));
                }
                Found::EndOfTable(table.name, digest)
            }
            Line::End { sha256 } => {
                if hexadecimal(before) != sha256 {
                    return Err(damaged("its checksum is not right"));
                }
                self.ended = true;
                Found::Frame
            }
        })
    }
}

fn damaged(why: impl std::fmt::Display) -> Failure {
    Mismatch(format!("the backup is damaged: {why}")).into()
}

fn hexadecimal(hash: Sha256) -> String {
    hash.finalize().iter().map(|byte| format!("{byte:02x}")).collect()
}
