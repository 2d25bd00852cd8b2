//! A server that reads what another one writes to a cluster.

use super::database::Database;
use super::desk::Desk;
use super::followed::{SAYS, followed};

#[test]
fn a_second_server_shows_what_the_first_writes_to_a_cluster() {
    let database = Database::fresh();
    followed(&Desk::with(&[("says.yaml", SAYS)]), &database.url());
}
