/** The steps of the first hour on a real account: what each proves, the most that it may cost, and what should happen. */
import { LAUNCHERS } from '@tidewheel/declaration/launchers.ts';
import type { RunFacts } from './run-facts.ts';

/** Where hosts of EC2 run; a person names it. */
export interface Hosts {
  readonly subnetId: string;
  readonly zoneId: string;
  readonly securityGroupId: string;
  readonly image: string;
}

/** One run of a pipeline of its own. */
export interface TrialRun {
  readonly files: number;
  readonly bytesEach: number;
  readonly compute: (hosts: Hosts | undefined) => Record<string, unknown>;
  readonly budgetUsd: number;
  readonly maximumRunSeconds: number;
  /** Seconds that the script trains. */
  readonly trainingSeconds: number;
  readonly patienceMinutes: number;
  /** @returns each difference from what is expected */
  readonly differences: (facts: RunFacts, plan: Pick<TrialRun, 'files'>) => readonly string[];
}

interface Common {
  readonly number: number;
  readonly title: string;
  readonly proves: string;
  /** At list prices of us-east-1, with storage and requests. */
  readonly mostUsd: number;
}

export type Step =
  | (Common & { readonly kind: 'check' })
  | (Common & { readonly kind: 'scores' })
  | (Common & {
      readonly kind: 'run';
      readonly plan: TrialRun;
      readonly needsHosts: boolean;
      /** Why the local region cannot play it. */
      readonly notLocal?: string;
    })
  /** A person does it, and writes down what happened. */
  | (Common & { readonly kind: 'byHand'; readonly instructions: string });

const [, EC2] = LAUNCHERS;

const onDemand = (instanceType: string) => () => ({
  instanceTypes: [instanceType],
  purchaseOption: 'on-demand',
});

const onEc2 =
  (instanceType: string, nodes: number, purchaseOption: string) => (hosts: Hosts | undefined) => ({
    launcher: EC2,
    instanceTypes: [instanceType],
    nodes,
    purchaseOption,
    vpc: {
      subnets: [{ id: hosts?.subnetId, zoneId: hosts?.zoneId }],
      securityGroupIds: [hosts?.securityGroupId],
    },
    ec2: { image: hosts?.image },
  });

const unless = (holds: boolean, difference: string): readonly string[] => (holds ? [] : [difference]);

/** @param further what a run that succeeded may still differ in: of one that did not, the failure says enough */
const succeeded =
  (further: TrialRun['differences'] = () => []): TrialRun['differences'] =>
  (facts, plan) =>
    facts.status === 'succeeded'
      ? further(facts, plan)
      : [`the run ${facts.status}: ${facts.failure ?? 'without a reason'}`];

const allSealed: TrialRun['differences'] = ({ samples }, { files }) =>
  unless(samples === files, `${samples} samples are sealed, not ${files.toLocaleString('en-US')}`);

const FEW = { files: 20, bytesEach: 1_000 } as const;

export const STEPS: readonly Step[] = [
  {
    number: 1,
    kind: 'check',
    title: 'Quotas, rights and the path of arrivals',
    proves: 'that nothing known to fail would fail (tidewheel check)',
    mostUsd: 0,
  },
  {
    number: 2,
    kind: 'run',
    title: '2,000 files and one On-Demand job',
    proves: 'arrivals, packing, SageMaker, its image and roles work together',
    mostUsd: 0.15,
    needsHosts: false,
    plan: {
      files: 2_000,
      bytesEach: 1_000,
      compute: onDemand('c5.xlarge'),
      budgetUsd: 0.12,
      maximumRunSeconds: 1_800,
      trainingSeconds: 30,
      patienceMinutes: 40,
      differences: succeeded((facts, plan) => [
        ...allSealed(facts, plan),
        ...unless(facts.attempts.length === 1, `${facts.attempts.length} attempts, not one`),
        ...unless(facts.hasModel, 'there is no model'),
      ]),
    },
  },
  {
    number: 3,
    kind: 'run',
    title: '25 GB with the concurrency of this account',
    proves: 'throttled Lambda functions delay packing and never end a run',
    mostUsd: 0.6,
    needsHosts: false,
    notLocal: 'it needs 50 GB of disk',
    plan: {
      files: 100,
      bytesEach: 250_000_000,
      compute: () => ({ ...onDemand('c5.xlarge')(), volumeGigabytes: 60 }),
      budgetUsd: 0.25,
      maximumRunSeconds: 3_600,
      trainingSeconds: 30,
      patienceMinutes: 90,
      differences: succeeded(allSealed),
    },
  },
  {
    number: 4,
    kind: 'run',
    title: 'Managed Spot: a time limit, and a second attempt',
    proves:
      'the script saves within its grace, the checkpoint reaches S3, the next attempt continues from it',
    mostUsd: 0.6,
    needsHosts: false,
    plan: {
      ...FEW,
      compute: () => ({ instanceTypes: ['g4dn.xlarge'], purchaseOption: 'spot' }),
      budgetUsd: 0.5,
      maximumRunSeconds: 120,
      trainingSeconds: 150,
      patienceMinutes: 60,
      differences: succeeded((facts) => [
        ...unless(facts.attempts.length >= 2, 'there was no second attempt'),
        // An attempt may be interrupted before its first save, so only the last is judged.
        ...unless((facts.attempts.at(-1)?.fromStep ?? 0) > 0, 'the last attempt began at step 0'),
        ...unless(facts.lostSeconds < 60, `${facts.lostSeconds} s of training were lost`),
      ]),
    },
  },
  {
    number: 5,
    kind: 'run',
    title: 'Managed Spot with instance groups',
    proves:
      'whether SageMaker takes EnableManagedSpotTraining together with InstanceGroups, which AWS does not say',
    mostUsd: 0.3,
    needsHosts: false,
    notLocal: 'its SageMaker takes both, which proves nothing about AWS',
    plan: {
      ...FEW,
      compute: () => ({
        instanceTypes: ['c5.xlarge'],
        purchaseOption: 'spot',
        spotWithHelpers: true,
        helpers: [{ name: 'helpers', instanceType: 'c5.xlarge', nodes: 1 }],
      }),
      budgetUsd: 0.25,
      maximumRunSeconds: 900,
      trainingSeconds: 30,
      patienceMinutes: 30,
      differences: succeeded(),
    },
  },
  {
    number: 6,
    kind: 'run',
    title: 'One host on EC2 without a route to S3',
    proves: 'a silent host ends its attempt after 15 minutes and the run after two, with the remedy',
    mostUsd: 0.2,
    needsHosts: true,
    notLocal: 'its hosts are processes of this machine, with the route of this machine',
    plan: {
      ...FEW,
      compute: onEc2('c5.xlarge', 1, 'on-demand'),
      budgetUsd: 0.15,
      maximumRunSeconds: 900,
      trainingSeconds: 30,
      patienceMinutes: 60,
      differences: ({ status, failure = '', attempts }) => [
        ...unless(status === 'failed', `the run ${status}: does the subnet have a route to S3?`),
        ...unless(/route|S3|NAT/.test(failure), 'the failure names no remedy'),
        ...unless(attempts.length === 2, `${attempts.length} attempts, not two`),
        ...unless(
          attempts.every(({ costUsd }) => costUsd > 0),
          'an attempt of a silent host was reported as free',
        ),
      ],
    },
  },
  {
    number: 7,
    kind: 'byHand',
    title: 'Two Spot hosts in a cluster group, one interrupted',
    proves: 'warning, save, replacement and resume on EC2',
    mostUsd: 0.8,
    instructions:
      'Declare a pipeline with launcher: ec2, instanceTypes: [g4dn.xlarge], nodes: 2, budgetUsd: 0.7 in a subnet with a NAT gateway or public addresses. When it trains, interrupt one host: aws fis create-experiment-template with the action aws:ec2:send-spot-instance-interruptions on the tag tidewheel:job, then start-experiment. Expected: the timeline says HostsReplaced, and the run succeeds.',
  },
  {
    number: 8,
    kind: 'scores',
    title: 'Spot placement scores',
    proves: 'rights and limits of GetSpotPlacementScores, with the error that AWS names',
    mostUsd: 0,
  },
  {
    number: 9,
    kind: 'byHand',
    title: 'osls remove while a job runs',
    proves: 'bucket and table stay, and what becomes of the job',
    mostUsd: 0.1,
    instructions:
      'Start step 2 again in a stage of its own (npx osls deploy --stage first-day-remove), and npx osls remove --stage first-day-remove while the job trains. Expected: bucket and table stay; the job trains on to its limit or until aws sagemaker stop-training-job. Write down what CloudFormation says.',
  },
];
