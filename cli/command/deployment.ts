/**
 * Finds the deployment that a verb talks to: the stack by its name in the account, or the local region of a folder.
 * Its address and credentials are also set in this process's environment, where the AWS SDK reads them.
 */
import { readFile } from 'node:fs/promises';
import path from 'node:path';
import { CloudFormationClient } from '@aws-sdk/client-cloudformation';
import { ACCESS_KEY_FILE, keyVariables } from '@tidewheel/emulators/access/access-key.ts';
import { UsageError } from '@tidewheel/kit/command-line.ts';
import * as z from 'zod';
import { readStack, stackNames } from '../../functions/aws/account/stack.ts';
import { describeError } from '../../functions/aws/shared/aws-errors.ts';
import type { StackView } from '../../functions/check/account-view.ts';
import { awsErrorClass } from '../../functions/records/aws-error-class.ts';
import type { ChosenDeployment } from '../deployment/chosen-deployment.ts';
import { networkRemedy } from '../deployment/surroundings.ts';
import { NotAllowedError } from './exit.ts';

/** How a person names one; without any word it is found. */
export interface DeploymentName {
  readonly stage?: string | undefined;
  readonly region?: string | undefined;
  readonly state?: string | undefined;
}

interface Where {
  readonly folder: string;
  readonly environment: Readonly<Record<string, string | undefined>>;
  readonly clone: string | undefined;
}

const STATE_FOLDER = '.tidewheel';
const LOCAL_REGION = 'us-east-1';
const USUAL_STAGE = 'dev';

/**
 * In this order: what the words name; the endpoint that the environment names; the local region of this folder or of
 * one above it, or the one that the clone keeps; the account's stack.
 * @throws UsageError @throws NotAllowedError @throws Error, each with a remedy
 */
export async function findDeployment(where: Where, place: DeploymentName): Promise<ChosenDeployment> {
  const { environment, folder } = where;
  if (place.state !== undefined) {
    if (place.stage !== undefined || place.region !== undefined)
      throw new UsageError(['--state names a local region, --stage and --region one on AWS: leave one out']);
    return localRegion(path.resolve(folder, place.state), folder);
  }
  const isNamed = place.stage !== undefined || place.region !== undefined;
  if (!isNamed && !environment['AWS_ENDPOINT_URL'] && !environment['TIDEWHEEL_STAGE']) {
    const state = await stateMeant(where, {});
    if (state !== undefined) return localRegion(state, folder);
  }
  return deployedStack(where, place);
}

/** @returns the state folder of the local region that is meant, up or not; undefined if none is */
export async function stateMeant(
  { folder, clone }: Where,
  { state }: DeploymentName,
): Promise<string | undefined> {
  if (state !== undefined) return path.resolve(folder, state);
  return (await stateAbove(folder)) ?? (await stateOfClone(clone));
}

async function stateAbove(folder: string): Promise<string | undefined> {
  const state = path.join(folder, STATE_FOLDER);
  if (await isState(state)) return state;
  const above = path.dirname(folder);
  return above === folder ? undefined : stateAbove(above);
}

async function stateOfClone(clone: string | undefined): Promise<string | undefined> {
  const state = clone === undefined ? undefined : path.join(clone, STATE_FOLDER);
  return state !== undefined && (await isState(state)) ? state : undefined;
}

const isState = async (folder: string): Promise<boolean> =>
  (await readOrNone(path.join(folder, ACCESS_KEY_FILE))) !== undefined;

const readOrNone = (file: string): Promise<string | undefined> =>
  readFile(file, 'utf8').catch(() => undefined);

const keySchema = z.object({ accessKeyId: z.string(), secretAccessKey: z.string() });
const portsSchema = z.object({ aws: z.int(), sageMaker: z.int(), ec2: z.int() });

/** @throws Error where no region is up there */
async function localRegion(state: string, folder: string): Promise<ChosenDeployment> {
  const shown = path.relative(folder, state).startsWith('..') ? state : path.relative(folder, state) || '.';
  const start = `start it (tidewheel up${shown === STATE_FOLDER ? '' : ` --state ${shown}`}), or name a stack on AWS with --stage`;
  const key = keySchema.safeParse(json(await readOrNone(path.join(state, ACCESS_KEY_FILE))));
  const ports = portsSchema.safeParse(json(await readOrNone(path.join(state, 'ports.json'))));
  if (!key.success || !ports.success) throw new Error(`there is no local region in ${shown}: ${start}`);
  useLocal(key.data, ports.data);
  const stack = await readStack(new CloudFormationClient({ maxAttempts: 1 }), stackName(USUAL_STAGE)).catch(
    (cause: unknown) => {
      throw new Error(`the local region in ${shown} is not up: ${start}`, { cause });
    },
  );
  if (stack === undefined || !isReady(stack))
    throw new Error(`the local region in ${shown} is still starting: wait until it says that it is up`);
  return use(
    { stack, stage: USUAL_STAGE, region: LOCAL_REGION },
    { title: `local region in ${shown}`, state },
  );
}

function useLocal(key: z.output<typeof keySchema>, ports: z.output<typeof portsSchema>): void {
  const at = (port: number) => `http://127.0.0.1:${port}`;
  // With a profile or a session token of the person's own, the SDK would not sign with the region's key.
  for (const name of ['AWS_PROFILE', 'AWS_SESSION_TOKEN']) Reflect.deleteProperty(process.env, name);
  Object.assign(process.env, keyVariables(key), {
    AWS_REGION: LOCAL_REGION,
    AWS_ENDPOINT_URL: at(ports.aws),
    AWS_ENDPOINT_URL_SAGEMAKER: at(ports.sageMaker),
    AWS_ENDPOINT_URL_EC2: at(ports.ec2),
  });
}

async function deployedStack({ environment }: Where, place: DeploymentName): Promise<ChosenDeployment> {
  const stage = place.stage ?? environment['TIDEWHEEL_STAGE'] ?? USUAL_STAGE;
  const region = await regionOf(environment, place);
  process.env['AWS_REGION'] = region;
  const client = new CloudFormationClient({ region });
  const stack = await readStack(client, stackName(stage)).catch((error: unknown) => {
    throw unreadable(error, stage, environment);
  });
  if (stack === undefined) throw await noStack(client, { stage, region });
  const endpoint = environment['AWS_ENDPOINT_URL'];
  const title = `stack ${stackName(stage)} in ${endpoint ?? region}`;
  return use({ stack, stage, region }, { title, state: undefined });
}

/** @throws UsageError where none is set */
async function regionOf(
  { AWS_REGION, AWS_DEFAULT_REGION }: Where['environment'],
  place: DeploymentName,
): Promise<string> {
  const named = place.region ?? AWS_REGION ?? AWS_DEFAULT_REGION;
  if (named !== undefined && named !== '') return named;
  try {
    // Of the profile in ~/.aws/config.
    return await new CloudFormationClient({}).config.region();
  } catch {
    throw new UsageError([
      'there is no local region here, and no AWS region is set: start a region (tidewheel up), or name one with --region, or its folder with --state',
    ]);
  }
}

function unreadable(error: unknown, stage: string, environment: Where['environment']): Error {
  const remedy = networkRemedy(error, environment);
  const [why = ''] = describeError(error).split('\n');
  const kind = awsErrorClass(error);
  const text = `the stack ${stackName(stage)} cannot be read: ${remedy ?? (kind === 'access' ? `${why}: allow cloudformation:DescribeStacks and cloudformation:ListStackResources to these credentials` : why)}`;
  return kind === 'access' || kind === 'credentials'
    ? new NotAllowedError(text, { cause: error })
    : new Error(text, { cause: error });
}

async function noStack(
  client: CloudFormationClient,
  { stage, region }: { readonly stage: string; readonly region: string },
): Promise<Error> {
  const prefix = stackName('');
  const others = (await stackNames(client)).filter((name) => name.startsWith(prefix));
  const there =
    others.length === 0
      ? ''
      : `; there are those of --stage ${others.map((name) => name.slice(prefix.length)).join(', ')}`;
  return new Error(
    `there is no stack ${stackName(stage)} in ${region}${there}. Deploy it (docs/deploy.md), or start a region on this machine: tidewheel up`,
  );
}

const stackName = (stage: string): string => `tidewheel-${stage}`;
const isReady = ({ status }: StackView): boolean => /^(CREATE|UPDATE)_COMPLETE$/.test(status);

interface Found extends Pick<ChosenDeployment, 'stack' | 'stage' | 'region'> {}

function use(
  { stack, stage, region }: Found,
  { title, state }: { readonly title: string; readonly state: string | undefined },
): ChosenDeployment {
  const output = (name: string): string => {
    const value = stack.outputs.get(name);
    if (value === undefined)
      throw new Error(`the ${title} is ${stack.status} and has no output ${name}: deploy it again`);
    return value;
  };
  const table = output('TableName');
  const apiUrl = output('ApiUrl').replace(/\/+$/, '');
  Object.assign(process.env, { TIDEWHEEL_TABLE: table, API_URL: apiUrl });
  return {
    kind: state === undefined ? 'aws' : 'local',
    title,
    stage,
    region,
    bucket: output('DataBucketName'),
    table,
    apiUrl,
    stack,
    stateDirectory: state,
  };
}

function json(text: string | undefined): unknown {
  try {
    return JSON.parse(text ?? '');
  } catch {
    return undefined;
  }
}
