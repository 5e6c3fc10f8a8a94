//! A seed always gives the same run, so that findings can be reproduced.

use sim::{Plan, play};

#[test]
fn a_seed_gives_the_same_log_every_time() {
    for seed in 1..=12 {
        let first = play(&Plan::draw(seed), true);
        let second = play(&Plan::draw(seed), true);
        let mut lines = first.log.iter().zip(&second.log);
        let different = lines.find(|(first, second)| first != second);
        assert_eq!(different, None, "seed {seed}");
        assert_eq!(first.log.len(), second.log.len(), "seed {seed}");
        assert!(!first.log.is_empty());
        assert_eq!(first.counts, second.counts, "seed {seed}");
    }
}

#[test]
fn the_contract_holds_for_the_first_forty_seeds() {
    for seed in 1..=40 {
        assert_eq!(play(&Plan::draw(seed), false).finding, None, "seed {seed}");
    }
}
