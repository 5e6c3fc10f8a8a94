//! Results of earlier runs, kept in the cache folder so that a run can be resumed.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use super::generated::Mutant;
use crate::Outcome;

/// The result for one mutant.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Status {
    /// It does not compile.
    Unviable,
    /// The detector of this stage found it.
    Caught { stage: String, how: String },
    /// This many stages did not find it.
    Missed { stages: usize },
}

/// The statuses of all tested mutants, by file and by fingerprint.
#[derive(Debug, Default)]
pub(crate) struct Results {
    /// The folder of the results, if they are kept.
    folder: Option<PathBuf>,
    files: BTreeMap<String, BTreeMap<String, Status>>,
}

impl Results {
    pub(crate) fn read(folder: &Path) -> Outcome<Results> {
        fs::create_dir_all(folder)?;
        let mut files = BTreeMap::new();
        for entry in fs::read_dir(folder)? {
            let path = entry?.path();
            let value: Value = serde_json::from_str(&fs::read_to_string(&path)?)
                .map_err(|error| format!("{}: {error}", path.display()))?;
            let statuses = value["mutants"].as_object().into_iter().flatten();
            let statuses = statuses.filter_map(|(name, status)| Some((name.clone(), status_from(status)?)));
            if let Some(file) = value["file"].as_str() {
                files.insert(file.to_owned(), statuses.collect());
            }
        }
        Ok(Results {
            folder: Some(folder.to_path_buf()),
            files,
        })
    }

    pub(crate) fn get(&self, mutant: &Mutant) -> Option<&Status> {
        self.files.get(&mutant.file)?.get(&mutant.fingerprint)
    }

    /// Returns the number of stages that need not be run for a mutant.
    pub(crate) fn stages_of(&self, mutant: &Mutant) -> usize {
        match self.get(mutant) {
            None => 0,
            Some(Status::Missed { stages }) => *stages,
            Some(Status::Caught { .. } | Status::Unviable) => usize::MAX,
        }
    }

    /// Removes the status of a mutant.
    pub(crate) fn remove(&mut self, mutant: &Mutant) {
        if let Some(statuses) = self.files.get_mut(&mutant.file) {
            statuses.remove(&mutant.fingerprint);
        }
    }

    /// Sets the status of a mutant, and writes it to the folder.
    pub(crate) fn set(&mut self, mutant: &Mutant, status: Status) -> Outcome {
        let statuses = self.files.entry(mutant.file.clone()).or_default();
        statuses.insert(mutant.fingerprint.clone(), status);
        self.write(&mutant.file)
    }

    /// Removes the statuses of other mutants.
    pub(crate) fn retain(&mut self, mutants: &[Mutant]) {
        for (file, statuses) in &mut self.files {
            statuses.retain(|name, _| {
                mutants
                    .iter()
                    .any(|mutant| mutant.file == *file && mutant.fingerprint == *name)
            });
        }
    }

    fn write(&self, file: &str) -> Outcome {
        let Some(folder) = &self.folder else {
            return Ok(());
        };
        let statuses = self.files.get(file).into_iter().flatten();
        let statuses: serde_json::Map<_, _> = statuses
            .map(|(name, status)| (name.clone(), status_to_json(status)))
            .collect();
        let text = serde_json::to_string_pretty(&json!({"file": file, "mutants": statuses}))?;
        // Written to a temporary file first, so that an interrupted run leaves no incomplete file.
        let path = folder.join(format!("{}.json", file.replace('/', "+")));
        let beside = folder.with_extension("new");
        fs::write(&beside, text)?;
        fs::rename(&beside, &path)?;
        Ok(())
    }
}

fn status_from(value: &Value) -> Option<Status> {
    Some(match value["status"].as_str()? {
        "unviable" => Status::Unviable,
        "caught" => Status::Caught {
            stage: value["stage"].as_str()?.to_owned(),
            how: value["how"].as_str()?.to_owned(),
        },
        "missed" => Status::Missed {
            stages: usize::try_from(value["stages"].as_u64()?).ok()?,
        },
        _ => return None,
    })
}

fn status_to_json(status: &Status) -> Value {
    match status {
        Status::Unviable => json!({"status": "unviable"}),
        Status::Caught { stage, how } => json!({"status": "caught", "stage": stage, "how": how}),
        Status::Missed { stages } => json!({"status": "missed", "stages": stages}),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn statuses_survive_a_round_trip() {
        let statuses = [
            Status::Unviable,
            Status::Caught {
                stage: "unit tests".to_owned(),
                how: "test a".to_owned(),
            },
            Status::Missed { stages: 2 },
        ];
        for status in statuses {
            assert_eq!(status_from(&status_to_json(&status)), Some(status));
        }
    }
}
