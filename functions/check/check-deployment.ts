/** Everything that would fail in the first run of a deployment, in one list. It changes nothing but one test object. */

import { bucketKeys } from '@tidewheel/contract/bucket-keys.ts';
import { isEc2Type, isKnownTrainingType } from '@tidewheel/declaration/instance-types.ts';
import { LAUNCHERS, launchersOf } from '@tidewheel/declaration/launchers.ts';
import type { Pipeline } from '@tidewheel/declaration/pipeline.ts';
import type { Problem } from '@tidewheel/kit/errors.ts';
import { reservationsOf } from '@tidewheel/placement/choose.ts';
import { typesOf } from '@tidewheel/placement/estimate.ts';
import type { ReservationSource } from '@tidewheel/placement/market.ts';
import { nameOfReservation } from '@tidewheel/placement/records.ts';
import parallelPackers from '../run/parallel-packers.json' with { type: 'json' };
import type { AccountView, LambdaConcurrency, StackView, TrainingView } from './account-view.ts';
import { arrivalFindings, queueFindings, type TestObjectDeps, testObjectFinding } from './arrivals.ts';
import { type AwsAnswer, type Finding, fails, judged, limited, passed, someOf } from './finding.ts';
import { spotRoleFindings } from './fleet-quotas.ts';
import { imageFindings } from './image-findings.ts';
import { launcherChecks, usesOwnInstances } from './launcher-checks.ts';
import { networkFindings } from './network.ts';
import { roleFindings } from './roles.ts';

export interface CheckDeps {
  readonly stack: StackView;
  readonly stage: string;
  readonly stateMachineArn: string;
  readonly bucket: string;
  /** Of the data bucket. */
  readonly region: string;
  readonly viewIn: (region: string) => AccountView;
  /** `--param packers=` of the deployment; absent: its default. */
  readonly packers?: number | undefined;
  readonly pipelines: readonly Pipeline[];
  readonly invalid: readonly { readonly name: string; readonly problems: readonly Problem[] }[];
  /** Names of the pipelines that the table knows; absent: not asked for. */
  readonly recorded?: AwsAnswer<readonly string[]> | undefined;
  /** Absent: what `compute.reserved` names is not looked up. */
  readonly reserved?: { readonly source: ReservationSource; readonly now: () => Date } | undefined;
  /** Absent: no test object is put. */
  readonly testObject?: (TestObjectDeps & { readonly id: string }) | undefined;
}

export async function checkDeployment(deps: CheckDeps): Promise<readonly Finding[]> {
  const { stack, region, testObject } = deps;
  const home = deps.viewIn(region);
  const groups = await Promise.all([
    home.concurrency().then((look) => concurrencyFindings(look, deps.packers)),
    roleFindings(stack, deps, home),
    arrivalFindings(deps, home),
    queueFindings(stack, home),
    trainingFindings(deps),
    ...deps.pipelines.map((pipeline) => reservationFindings(pipeline, deps)),
    testObject === undefined ? [] : testObjectFinding(testObject.id, testObject).then((finding) => [finding]),
  ]);
  return [...stackFindings(stack), ...declarationFindings(deps), ...groups.flat()];
}

const RESERVATIONS_REMEDY =
  'allow ec2:DescribeCapacityReservations and sagemaker:DescribeTrainingPlan for the credentials of the check, or run it again';

/** A run that cannot use a reservation pays for other capacity. */
async function reservationFindings(
  { name, compute }: Pipeline,
  { reserved }: CheckDeps,
): Promise<readonly Finding[]> {
  const place = { check: 'reservations', field: `${name}: compute.reserved` };
  const question = { compute, instanceTypes: typesOf(compute), now: reserved?.now() ?? new Date(0) };
  const found = await reservationsOf({ reservations: reserved?.source }, question);
  if (found === undefined) return [];
  const value = someOf(found.reservations.map(({ id }) => nameOfReservation(id))) || 'none found';
  if (found.notes.length === 0) return [passed(place, value)];
  return found.notes.map((note) => {
    // AWS's own sentence, of any form, without a remedy of this service.
    if (note.startsWith('reservations unknown'))
      return { ...place, kind: 'notSeen', message: note, remedy: RESERVATIONS_REMEDY };
    const cut = note.lastIndexOf(': ');
    return fails(place, { value, message: note.slice(0, cut), remedy: note.slice(cut + 2) });
  });
}

interface TrainingDeps extends Pick<CheckDeps, 'bucket' | 'region' | 'pipelines'> {
  readonly viewIn: (region: string) => TrainingView;
}

/** What would stand in the way of the pipelines' training: quotas, networks, images, secrets, the role for Spot. */
export async function trainingFindings(deps: TrainingDeps): Promise<readonly Finding[]> {
  const { pipelines, region } = deps;
  const home = deps.viewIn(region);
  const regions = [
    ...new Set([region, ...pipelines.flatMap((each) => placesOf(each, region).map(({ name }) => name))]),
  ];
  const groups = await Promise.all([
    home.hasSpotRole().then((look) => spotRoleFindings(pipelines.filter(usesOwnInstances), look)),
    ...regions.map((name) => regionFindings(name, deps)),
    ...pipelines.map((pipeline) => imageFindings(pipeline, home)),
  ]);
  return groups.flat();
}

function stackFindings({ status }: StackView): readonly Finding[] {
  const place = { check: 'stack', field: 'status' };
  if (/^(CREATE|UPDATE)_COMPLETE$/.test(status)) return [passed(place, status)];
  return [
    fails(place, {
      value: status,
      message: 'the deployment has not ended, or was rolled back',
      remedy: 'wait for it, or deploy again: npx osls deploy',
    }),
  ];
}

const declarationFindings = ({ pipelines, invalid, recorded }: CheckDeps): readonly Finding[] => [
  ...pipelines.map(({ name }) =>
    passed({ check: 'declarations', field: bucketKeys.pipeline(name) }, 'valid'),
  ),
  ...recordFindings(pipelines, recorded),
  ...pipelines.flatMap(laterTypeFindings),
  ...invalid.flatMap(({ name, problems }) =>
    problems.map(({ path, message }) =>
      fails(
        { check: 'declarations', field: `${name}: ${path || '(whole document)'}` },
        { value: 'not valid', message, remedy: `correct ${bucketKeys.pipeline(name)} and put it again` },
      ),
    ),
  ),
];

function recordFindings(
  pipelines: CheckDeps['pipelines'],
  recorded: CheckDeps['recorded'],
): readonly Finding[] {
  const place = { check: 'declarations', field: 'the table' };
  if (recorded === undefined || pipelines.length === 0) return [];
  return judged(place, recorded, (known) => {
    const missing = pipelines.map(({ name }) => name).filter((name) => !known.includes(name));
    if (missing.length === 0) return passed(place, 'knows all');
    return fails(place, {
      value: `without ${someOf(missing)}`,
      message: 'their events were lost, or the table was: their runs are in no list',
      remedy: 'wait for the next sweep, an hour at most, which restores them (docs/operating.md#restore)',
    });
  });
}

/** Types of a generation that no list here has: AWS decides at the launch. */
function laterTypeFindings({ name, compute }: Pipeline): readonly Finding[] {
  const isKnown = { sagemaker: isKnownTrainingType, ec2: isEc2Type } as const;
  const later = (compute.instanceTypes ?? []).filter(
    (type) => !launchersOf(compute).some((launcher) => isKnown[launcher](type)),
  );
  return later.map((type) =>
    limited(
      { check: 'declarations', field: `${name}: compute.instanceTypes` },
      {
        value: type,
        message:
          'this release does not know it, and takes it for the generation before: price and hardware are those that AWS lists, and AWS decides at the launch',
        remedy: 'name a type beside it that is known',
      },
    ),
  );
}

/** The regions in which a pipeline may train, each with its own network. */
function placesOf({ compute }: Pipeline, home: string) {
  if (compute.regions === undefined) return [{ name: home, vpc: compute.vpc }];
  return compute.regions.map(({ name, vpc }) => ({ name, vpc: name === home ? (vpc ?? compute.vpc) : vpc }));
}

async function regionFindings(name: string, deps: TrainingDeps): Promise<readonly Finding[]> {
  const view = deps.viewIn(name);
  const here = deps.pipelines.flatMap((pipeline) =>
    placesOf(pipeline, deps.region)
      .filter((place) => place.name === name)
      .map(({ vpc }) => ({ pipeline, vpc })),
  );
  const pipelines = here.map(({ pipeline }) => pipeline);
  const isHome = name === deps.region;
  const groups = await Promise.all([
    isHome ? [] : bucketFindings(name, deps, view),
    ...LAUNCHERS.map(async (launcher) => {
      const using = pipelines.filter(({ compute }) => launchersOf(compute).includes(launcher));
      return using.length === 0
        ? []
        : launcherChecks[launcher].quotaFindings(
            { pipelines: using, region: name, launcher },
            await view.quotas(launcher),
          );
    }),
    ...here.map(async ({ pipeline, vpc }) =>
      vpc === undefined
        ? []
        : networkFindings(
            pipeline,
            vpc,
            await view.network({
              subnetIds: vpc.subnets.map(({ id }) => id),
              securityGroupIds: vpc.securityGroupIds,
            }),
          ),
    ),
  ]);
  return groups.flat();
}

async function bucketFindings(
  region: string,
  { bucket }: TrainingDeps,
  view: TrainingView,
): Promise<readonly Finding[]> {
  const name = bucketKeys.regionBucket(bucket, region);
  const place = { check: 'regions', field: name };
  return judged(place, await view.hasBucket(name), (exists) =>
    exists
      ? passed(place, region)
      : fails(place, {
          value: 'missing',
          message: `no attempt runs in ${region}`,
          remedy: `aws s3 mb s3://${name} --region ${region}`,
        }),
  );
}

const PLACE = { check: 'Lambda concurrency', field: 'ConcurrentExecutions' };

/** The four queues use at most nine executions (serverless/generated/functions.yml). */
const OTHERS = 10;
const EXAMPLE_GIGABYTES = 100;
/** An item holds at most 256 MB and takes up to a minute. */
const ITEMS = Math.ceil((EXAMPLE_GIGABYTES * 1_000) / 256);

/** https://docs.aws.amazon.com/lambda/latest/dg/gettingstarted-limits.html */
const REMEDY =
  'request 1,000: aws service-quotas request-service-quota-increase --service-code lambda --quota-code L-B99A9384 --desired-value 1000';

const packingMinutes = (slots: number): number => Math.ceil(ITEMS / slots);

/** @param packers items that a plan packs side by side */
const concurrencyFindings = (
  look: AwsAnswer<LambdaConcurrency>,
  packers = parallelPackers.default,
): readonly Finding[] =>
  judged(PLACE, look, ({ account, unreserved }) => {
    const value = `${account}, ${unreserved} unreserved`;
    if (unreserved >= packers + OTHERS) return passed(PLACE, value);
    const minutes = packingMinutes(Math.min(packers, Math.max(1, unreserved - 1)));
    return limited(PLACE, {
      value,
      message: `packing ${EXAMPLE_GIGABYTES} GB takes about ${minutes} minutes, against ${packingMinutes(packers)} with the default quota; functions of the account wait for each other`,
      remedy: REMEDY,
    });
  });
