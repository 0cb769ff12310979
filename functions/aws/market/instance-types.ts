/** What EC2 says of instance types' hardware. */
import { type EC2Client, paginateDescribeInstanceTypes } from '@aws-sdk/client-ec2';
import type { Answer } from '../../core/placement/model/market-source.ts';
import { answered } from './answers.ts';

/** EC2 takes so many values in one filter. https://docs.aws.amazon.com/AWSEC2/latest/APIReference/API_Filter.html */
const VALUES_A_FILTER = 200;

/**
 * Entries of InstanceTypes as they come, to be checked by who reads them. Asked by a filter: a list of names is refused
 * as a whole when one of them is not offered in the region.
 */
export const describeHardware = (
  ec2: EC2Client,
  types: readonly string[],
): Promise<Answer<readonly unknown[]>> =>
  answered(async () => {
    const names = [...new Set(types)].sort();
    const found: unknown[] = [];
    for (let start = 0; start < names.length; start += VALUES_A_FILTER) {
      const Values = names.slice(start, start + VALUES_A_FILTER);
      const pages = paginateDescribeInstanceTypes(
        { client: ec2, pageSize: 100, stopOnSameToken: true },
        { Filters: [{ Name: 'instance-type', Values }] },
      );
      for await (const { InstanceTypes } of pages) found.push(...(InstanceTypes ?? []));
    }
    return found;
  });
