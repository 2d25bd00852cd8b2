//! The id of a plan: where the stack stood, a digest of what was asked for, and one of what was to
//! become of each resource. Nothing is kept of a plan: when a change names one, the plan is made
//! anew, and is another one unless all three are the same.

use std::fmt;
use std::str::FromStr;

use super::{Refusal, StackRevision};

/// How much of each digest the id has.
pub const DIGEST_BYTES: usize = 16;

/// The longest id.
const TEXT_BYTES_MAX: usize = 2 * 2 * DIGEST_BYTES + 40;

/// See the module.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PlanId {
    /// The stack's newest; 0 where there is no stack yet.
    pub revision: StackRevision,
    /// Where the stack's stream ended; 0 where there is none.
    pub position: u64,
    pub asked: [u8; DIGEST_BYTES],
    pub foreseen: [u8; DIGEST_BYTES],
}

impl PlanId {
    /// Refuses a plan made before, where the same one made now is this; says what is another.
    pub fn hold(self, before: Self, since: impl FnOnce() -> String) -> Result<(), Refusal> {
        let problem = match () {
            () if self == before => return Ok(()),
            () if self.asked != before.asked => {
                "What is asked for is not what the plan was made of.".to_owned()
            }
            () if (self.revision, self.position) != (before.revision, before.position) => format!(
                "The stack is not as the plan saw it (revision {} at {}): it has revision {} and \
                 stands at {}.{}",
                before.revision,
                before.position,
                self.revision,
                self.position,
                since()
            ),
            () => format!(
                "What would become of the resources is not what the plan says: make it anew and \
                 compare.{}",
                since()
            ),
        };
        Err(Self::outdated(&problem))
    }

    /// The refusal of a change whose plan does not hold any more.
    pub fn outdated(problem: &str) -> Refusal {
        Refusal::new("PlanOutdated", format!("The plan does not hold any more. {problem}"))
    }
}

impl fmt::Display for PlanId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}-{}-", self.revision, self.position)?;
        self.asked.iter().chain(&self.foreseen).try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

/// A text that is no id of a plan.
#[derive(Debug, thiserror::Error)]
#[error("this is no id of a plan")]
pub struct NoPlanId;

impl FromStr for PlanId {
    type Err = NoPlanId;

    fn from_str(text: &str) -> Result<Self, NoPlanId> {
        let read = || {
            let mut parts = text.splitn(3, '-');
            let revision = parts.next()?.parse().ok()?;
            let position = parts.next()?.parse().ok()?;
            let digests = parts.next()?.as_bytes();
            if digests.len() != 4 * DIGEST_BYTES {
                return None;
            }
            let digit =
                |byte: u8| char::from(byte).to_digit(16).and_then(|it| u8::try_from(it).ok());
            let mut bytes = [0; 2 * DIGEST_BYTES];
            for (byte, pair) in bytes.iter_mut().zip(digests.chunks(2)) {
                *byte = digit(pair[0])? << 4 | digit(pair[1])?;
            }
            let (mut asked, mut foreseen) = ([0; DIGEST_BYTES], [0; DIGEST_BYTES]);
            asked.copy_from_slice(&bytes[..DIGEST_BYTES]);
            foreseen.copy_from_slice(&bytes[DIGEST_BYTES..]);
            let (revision, position) = (StackRevision(revision), position);
            Some(PlanId { revision, position, asked, foreseen })
        };
        if text.len() > TEXT_BYTES_MAX {
            return Err(NoPlanId);
        }
        read().ok_or(NoPlanId)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_id_reads_as_it_is_written_and_nothing_else_does() {
        let id = PlanId {
            revision: StackRevision(3),
            position: 42,
            asked: [0xab; DIGEST_BYTES],
            foreseen: [7; DIGEST_BYTES],
        };
        let text = id.to_string();
        assert!(text.starts_with("3-42-abab") && text.ends_with("0707"), "{text}");
        assert_eq!(text.parse::<PlanId>().unwrap(), id);
        let long = "9".repeat(1_000);
        for wrong in ["", "3", "3-42", "3-42-ab", &text[1..], &text[..text.len() - 1], &long] {
            assert!(wrong.parse::<PlanId>().is_err(), "{wrong}");
        }
        assert!(text.replace("07", "0é").parse::<PlanId>().is_err());
    }

    #[test]
    fn a_plan_that_does_not_hold_says_what_is_another() {
        let id = PlanId {
            revision: StackRevision(1),
            position: 5,
            asked: [1; DIGEST_BYTES],
            foreseen: [1; DIGEST_BYTES],
        };
        let told = |now: PlanId| now.hold(id, || " Since then: x.".to_owned()).unwrap_err().message;
        assert!(id.hold(id, String::new).is_ok());
        let asked = PlanId { asked: [2; DIGEST_BYTES], ..id };
        assert!(told(asked).ends_with("What is asked for is not what the plan was made of."));
        let moved = PlanId { revision: StackRevision(2), position: 9, ..id };
        assert!(told(moved).ends_with(
            "The stack is not as the plan saw it (revision 1 at 5): it has revision 2 and stands \
             at 9. Since then: x."
        ));
        let foreseen = PlanId { foreseen: [2; DIGEST_BYTES], ..id };
        assert!(told(foreseen).contains("make it anew"));
    }
}
