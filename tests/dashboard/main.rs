//! The dashboard in a real browser: Chromium, driven by WebDriver. The tests are ignored unless Chromium is
//! installed.

mod broken;
mod browsing;
mod fixture;
mod looks;
mod screenshots;
mod secrets;
mod webdriver;
