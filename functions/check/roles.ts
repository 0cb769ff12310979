/**
 * The rights without which a run cannot work, tried in IAM's policy simulator. The template grants them. A service control
 * policy of the organization or a permissions boundary may still take them away.
 */

import { bucketKeys } from '@tidewheel/contract/bucket-keys.ts';
import type { SimulatedDecision, StackView, TrainingView } from './account-view.ts';
import { type Finding, fails, judged, passed, restoring, someOf } from './finding.ts';

interface Names {
  readonly bucketArn: string;
  readonly stateMachineArn: string;
  readonly partition: string;
  readonly region: string;
  readonly account: string;
  readonly stage: string;
  /** Policy and permissions boundary of every training role. */
  readonly trainingPolicyArn: string;
}

interface Deployed {
  readonly bucket: string;
  readonly stage: string;
  readonly stateMachineArn: string;
}

interface Need {
  /** Logical name in the template. */
  readonly role: string;
  readonly actions: readonly string[];
  readonly resource: (names: Names) => string;
  /** Values of the condition keys under which the template grants it. */
  readonly context?: (names: Names) => Readonly<Record<string, string>>;
  readonly consequence: string;
}

const objects =
  (key: string) =>
  ({ bucketArn }: Names): string =>
    `${bucketArn}/${key}`;
const EXAMPLE = 'example';
const RUN = 'example-000001';

export const NEEDED_RIGHTS: readonly Need[] = [
  {
    role: 'LaunchRole',
    actions: ['sagemaker:CreateTrainingJob'],
    resource: ({ partition, region, account }) =>
      `arn:${partition}:sagemaker:${region}:${account}:training-job/example`,
    consequence: 'no training job can start',
  },
  {
    role: 'LaunchRole',
    actions: ['iam:CreateRole', 'iam:AttachRolePolicy'],
    resource: ({ partition, account, stage, region }) =>
      `arn:${partition}:iam::${account}:role/tidewheel/${stage}/${region}/training/tidewheel-example`,
    context: ({ trainingPolicyArn }) => ({
      'iam:PermissionsBoundary': trainingPolicyArn,
      'iam:PolicyARN': trainingPolicyArn,
    }),
    consequence: 'no new pipeline gets the role that its script runs under',
  },
  {
    role: 'PackShardsRole',
    actions: ['s3:PutObject'],
    resource: objects(`${bucketKeys.shards(EXAMPLE, RUN)}00000.tar`),
    consequence: 'no dataset can be packed',
  },
  {
    role: 'OnArrivalRole',
    actions: ['states:StartExecution'],
    resource: ({ stateMachineArn }) => stateMachineArn,
    consequence: 'no run can start',
  },
];

export async function roleFindings(
  stack: Pick<StackView, 'resources'>,
  { bucket, stage, stateMachineArn }: Deployed,
  view: Pick<TrainingView, 'decisions'>,
): Promise<readonly Finding[]> {
  const [, partition = 'aws', , region = '', account = ''] = stateMachineArn.split(':');
  const names: Names = {
    bucketArn: `arn:${partition}:s3:::${bucket}`,
    stateMachineArn,
    partition,
    region,
    account,
    stage,
    trainingPolicyArn: stack.resources.get('TrainingPolicy') ?? '',
  };
  const findings = await Promise.all(
    NEEDED_RIGHTS.map(
      async ({ role, actions, resource, context, consequence }): Promise<readonly Finding[]> => {
        const place = { check: 'roles', field: `${role}: ${actions.join(', ')}` };
        const name = stack.resources.get(role);
        if (name === undefined)
          return [
            { ...place, kind: 'notSeen', message: 'the stack has no such role', remedy: 'deploy again' },
          ];
        const roleArn = `arn:${partition}:iam::${account}:role/${name}`;
        const look = await view.decisions({
          roleArn,
          actions,
          resource: resource(names),
          context: context?.(names),
        });
        return judged(place, look, (decisions) => {
          if (decisions === undefined)
            return fails(place, {
              value: 'missing',
              message: `${consequence}: the account has no role ${name}`,
              remedy: restoring(stage),
            });
          const denied = decisions.filter(({ isAllowed }) => !isAllowed);
          if (denied.length === 0) return passed(place, 'allowed');
          return fails(place, {
            value: someOf(denied.map(({ action }) => action)),
            message: `${consequence}: ${causeOf(denied)}`,
            remedy: remedyFor(denied, stage),
          });
        });
      },
    ),
  );
  return findings.flat();
}

const causeOf = ([first]: readonly SimulatedDecision[]): string => {
  if (first?.deniedBy === 'organization') return 'a service control policy of the organization denies it';
  return first?.deniedBy === 'boundary'
    ? "the role's permissions boundary denies it"
    : 'no policy of the role allows it';
};

const remedyFor = ([first]: readonly SimulatedDecision[], stage: string): string =>
  first?.deniedBy === 'organization' || first?.deniedBy === 'boundary'
    ? `let the administrators of the account allow ${first.action} for the roles of the stack`
    : restoring(stage);
