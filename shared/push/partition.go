package push

import "strings"

// Partition is the ARN partition of a region (AWS general reference, Amazon
// Resource Names): aws-cn in China, aws-us-gov in GovCloud, aws elsewhere.
func Partition(region string) string {
	switch {
	case strings.HasPrefix(region, "cn-"):
		return "aws-cn"
	case strings.HasPrefix(region, "us-gov-"):
		return "aws-us-gov"
	}
	return "aws"
}

// ARNOf completes a bare resource name with its service, region and account; a
// name that is an ARN already is itself.
func ARNOf(service, region, account, name string) string {
	if _, err := ParseARN(name); err == nil {
		return name
	}
	return ARN{Partition: Partition(region), Service: service, Region: region, Account: account, Resource: name}.String()
}
