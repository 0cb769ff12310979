/** EC2's data on the hardware of instance types. */

import { type EC2Client, paginateDescribeInstanceTypes } from '@aws-sdk/client-ec2';
import type { MarketAnswer } from '@tidewheel/placement/market.ts';
import { answered } from './answers.ts';

/** EC2's limit for the values of a filter. https://docs.aws.amazon.com/AWSEC2/latest/APIReference/API_Filter.html */
const VALUES_A_FILTER = 200;

/**
 * Unchecked entries of InstanceTypes; the reader checks them. The request uses a filter, because EC2 refuses a whole list
 * of names if the region does not offer one of them.
 */
export const describeHardware = (
  ec2: EC2Client,
  types: readonly string[],
): Promise<MarketAnswer<readonly unknown[]>> =>
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
