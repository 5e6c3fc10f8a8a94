//! The dashboard in a real browser: Chromium, driven by WebDriver. Where there is none, nothing is run, and that is said.

mod broken;
mod browsing;
mod looks;
mod pictures;
mod scene;
mod secrets;
mod webdriver;
