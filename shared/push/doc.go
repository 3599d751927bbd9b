// Package push holds the nouns of Postino: topics, subscriptions, messages,
// jobs, attempts and errors. It has no behaviour beyond reading and writing its
// own values, and imports nothing but the standard library; every other package
// speaks in these types.
package push
