// Package envelope makes the bytes that a subscriber gets, and reads them back.
// It is pure: a message and a subscription in, headers and body out.
//
// A notification that is not raw, and every confirmation, is a JSON object laid
// out one member a line, as SNS sends it (SNS developer guide, message and JSON
// formats):
//
//	{
//	  "Type" : "Notification",
//	  "MessageId" : "…",
//	  "TopicArn" : "…",
//	  "Subject" : "…",
//	  "Message" : "…",
//	  "Timestamp" : "2012-05-02T00:54:06.655Z",
//	  "SignatureVersion" : "1",
//	  "Signature" : "…",
//	  "SigningCertURL" : "…",
//	  "UnsubscribeURL" : "…",
//	  "MessageAttributes" : {
//	    "name" : {"Type":"String","Value":"…"}
//	  }
//	}
//
// Members without a value are left out, never empty: Subject, MessageAttributes,
// and the three of the signature where the message has none.
//
// Strings are UTF-8 and escape what JSON requires, the quotation mark, the
// backslash and control characters, and no more: "<", ">", "&", "/" and the line
// separators U+2028 and U+2029 stand as they are. Two exceptions keep a body fit
// for its dead-letter queue: U+FFFE and U+FFFF, which SQS refuses, are escaped,
// and bytes that are no UTF-8 (refused at publish) become U+FFFD.
package envelope
