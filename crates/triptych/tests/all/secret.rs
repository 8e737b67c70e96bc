//! The installation's secret: a file that the first start makes, or a setting.

use std::{fs, os::unix::fs::PermissionsExt};

use crate::common::{Workspace, refused};
use testkit::Program;

const SETTING: &str = "TRIPTYCH_SECRET";

testkit::on_both_engines! {
    async fn first_start_makes_a_secret_for_its_owner_only(workspace: Workspace) {
        // With PostgreSQL, the data folder has only this file.
        let data = workspace.store.folder().unwrap_or_else(|| workspace.folder.path().join("triptych-data"));
        let serve = || workspace.serving_train();
        assert!(Program::start(&mut serve()).terminate().success());
        let file = data.join("secret");
        let secret = fs::read(&file).unwrap();
        assert_eq!(secret.len(), 32);
        assert_ne!(secret, [0; 32]);
        assert_eq!(fs::metadata(&file).unwrap().permissions().mode() & 0o777, 0o600);
        let names = || fs::read_dir(&data).unwrap().map(|entry| entry.unwrap().file_name()).collect::<Vec<_>>();
        assert!(names().iter().all(|name| !name.to_string_lossy().contains(".new")), "{:?}", names());
        // It stays.
        assert!(Program::start(&mut serve()).terminate().success());
        assert_eq!(fs::read(&file).unwrap(), secret);

        fs::set_permissions(&file, fs::Permissions::from_mode(0o640)).unwrap();
        // As the program names it, from the folder it is started in.
        let path = match workspace.store.folder() {
            Some(folder) => folder.join("secret").display().to_string(),
            None => "./triptych-data/secret".to_owned(),
        };
        assert_eq!(
            refused(&serve().output().unwrap()),
            format!("triptych: other users can read the secret in {path}: run chmod 600 {path}")
        );
        fs::set_permissions(&file, fs::Permissions::from_mode(0o600)).unwrap();
        fs::write(&file, "short").unwrap();
        assert_eq!(
            refused(&serve().output().unwrap()),
            format!("triptych: the secret in {path} must have 32 bytes, not 5")
        );
        // With the setting, the file is not looked at.
        assert!(Program::start(serve().env(SETTING, "x".repeat(32))).terminate().success());
    }

    async fn secret_setting_is_checked_and_not_shown(workspace: Workspace) {
        let short = workspace.command(&["config"]).env(SETTING, "x".repeat(31)).output().unwrap();
        assert_eq!(
            refused(&short),
            "triptych: secret must have at least 32 characters, like what openssl rand -hex 32 prints"
        );
        let secret = "unpredictable-unpredictable-unpredictable";
        let shown = workspace.command(&["config"]).env(SETTING, secret).output().unwrap();
        let shown = String::from_utf8(shown.stdout).unwrap();
        assert!(shown.contains("secret = \"(hidden)\"") && !shown.contains(secret), "{shown}");
    }
}
