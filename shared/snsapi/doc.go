// Package snsapi is the front door that speaks the Amazon SNS Query API
// (version 2010-03-31): form-encoded requests in, XML out, as AWS SDKs, boto3
// and the AWS CLI send and expect it. It checks what comes in and keeps topics
// and subscriptions through the Directory port; delivering is the pipeline's
// business, behind the Publisher port.
//
// What is not served is refused: an attribute, parameter, protocol or action
// that SNS knows and Postino does not serve yet gets a clear error and is never
// stored and ignored. docs/compatibility.md lists both sides.
package snsapi
