//! A seed plays the same every time, so that what it finds can be looked at.

use sim::{Plan, play};

#[test]
fn a_seed_tells_the_same_story_every_time() {
    for seed in 1..=12 {
        let first = play(&Plan::draw(seed), None, true);
        let second = play(&Plan::draw(seed), None, true);
        let different = first
            .story
            .iter()
            .zip(&second.story)
            .find(|(first, second)| first != second);
        assert_eq!(different, None, "seed {seed}");
        assert_eq!(first.story.len(), second.story.len(), "seed {seed}");
        assert!(!first.story.is_empty());
        assert_eq!(first.counts, second.counts, "seed {seed}");
    }
}
