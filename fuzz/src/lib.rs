//! What the fuzz targets share with the tests of farhold-secure.

#[path = "../../crates/secure/tests/support/contacts.rs"]
pub mod contacts;
