// The cards of the sandbox, which decides by their numbers.

/** The number, what happens, and the outcome: good, bad, or warn while it is open. */
export const CARDS = [
  { number: "4242424242424242", name: "Succeeds", about: "The payment goes through at once.", kind: "good" },
  { number: "4000000000000077", name: "Takes a moment", about: "Pending at first; succeeds after some seconds.", kind: "warn" },
  { number: "4000000000000002", name: "Declined", about: "The bank says no.", kind: "bad" },
  { number: "4000000000009995", name: "Insufficient funds", about: "There is too little money.", kind: "bad" },
  { number: "4000000000000069", name: "Expired", about: "The bank says that the card has expired.", kind: "bad" },
];

/** What a failed payment means. */
export const FAILURES = {
  card_declined: "The card was declined.",
  expired_card: "The card has expired.",
  insufficient_funds: "The account has too little money.",
  abandoned: "The payment was not carried out.",
};

/** A number in groups of four. */
export const grouped = (number) => number.replace(/\s/g, "").replace(/(.{4})(?=.)/g, "$1 ");
