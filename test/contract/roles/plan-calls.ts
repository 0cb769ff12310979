/** What `plan` calls on AWS: it looks at the account, and starts nothing. */
import { bucketKeys } from '@tidewheel/contract/bucket-keys.ts';
import type { Call } from '../roles.ts';
import {
  askMarket,
  describeReservations,
  ec2,
  index,
  items,
  learnsOfAbsence,
  list,
  listsAway,
  log,
  query,
  RUN,
  read,
  regional,
  role,
  searchOffers,
  versions,
} from './call-words.ts';

export const planCalls: readonly Call[] = [
  log('plan'),
  ...items('Get', 'Put'),
  query,
  index('list'),
  read(bucketKeys.pipeline('digits')),
  list(bucketKeys.incoming('digits')),
  read(`${bucketKeys.incoming('digits')}annotations.csv`),
  read(bucketKeys.manifest('digits', RUN)),
  read(`${bucketKeys.plan('digits', RUN)}abc/listed-ranges.json.zst`),
  ...versions,
  learnsOfAbsence,
  listsAway,
  ...askMarket,
  ...describeReservations,
  ...searchOffers,
  ...[
    'DescribeSubnets',
    'DescribeRouteTables',
    'DescribeVpcEndpoints',
    'DescribeSecurityGroups',
    'DescribeImages',
  ].map(ec2),
  ...['ListServiceQuotas', 'ListAWSDefaultServiceQuotas'].map((name) => ({
    action: `servicequotas:${name}`,
    resource: '*',
  })),
  { action: 'ecr:DescribeImages', resource: regional('ecr', 'repository/digits') },
  { action: 'iam:SimulatePrincipalPolicy', resource: role('tw-launchrole') },
  { action: 'iam:GetRole', resource: role('aws-service-role/spot.amazonaws.com/AWSServiceRoleForEC2Spot') },
];
