/**
 * What the deployment lets declarations name. The policies of the template allow nothing else, so a declaration that
 * names it would fail with AccessDenied after its data was packed.
 */

import { AWS_IMAGE_ACCOUNTS, frameworkProblem } from '@tidewheel/catalog/images.ts';
import { bucketKeys, parseRunId, s3Uri } from '@tidewheel/contract/bucket-keys.ts';
import { indexCredentialsArn, type Pipeline } from '@tidewheel/declaration/pipeline.ts';
import { type Declaration, readDeclaration, readStored } from '@tidewheel/declaration/read.ts';
import type { Problem } from '@tidewheel/kit/errors.ts';

/** In a list of ids: every id. */
const ANY = '*';

export interface Allowed {
  /** The stack's own account. */
  readonly account: string;
  /** Ids, or `*`. */
  readonly subnets: readonly string[];
  readonly securityGroups: readonly string[];
  /** Accounts, beside AWS's and the stack's own, whose container images train. */
  readonly imageAccounts: readonly string[];
  /** S3 prefixes (`s3://bucket/prefix/`) that the scripts of every pipeline read. */
  readonly sharedPrefixes: readonly string[];
  /** The ARN of the one secret that scripts read; empty: none. */
  readonly packageIndexSecret: string;
  /** The ARN of the one CodeArtifact repository that scripts install from; empty: none. */
  readonly packageIndexRepository: string;
  /** Whether it hands models over to registries. */
  readonly registries: boolean;
}

export interface DeploymentRules {
  readonly allowed: Allowed;
  /** The data bucket. */
  readonly bucket: string;
  /** The only arrival that S3 notifies of; absent where it notifies of all. */
  readonly notifiedMarker?: string | undefined;
}

/** As `readDeclaration`. A valid declaration names only what the deployment allows. */
export const readAllowedDeclaration = (
  deployment: DeploymentRules,
  name: string,
  text: string,
): Declaration => onlyHeard(deployment, readDeclaration(name, text));

/** The same as `readStored`. */
export const readAllowedStored = (deployment: DeploymentRules, name: string, text: string): Declaration =>
  onlyHeard(deployment, readStored(name, text));

/** Without marker and schedule nothing would start a run when data arrives. */
function onlyHeard(deployment: DeploymentRules, declaration: Declaration): Declaration {
  const { notifiedMarker: marker } = deployment;
  if (!declaration.valid || marker === undefined) return onlyAllowed(deployment, declaration);
  const { settle, schedule } = declaration.pipeline;
  if (settle.marker === marker || schedule !== undefined) return onlyAllowed(deployment, declaration);
  const message = `must be "${marker}", because S3 notifies this deployment of that name alone (docs/deploy.md), or declare a schedule`;
  return { valid: false, problems: [{ path: 'settle.marker', message }] };
}

/** A valid declaration stays valid if it names only what the deployment allows. */
export function onlyAllowed({ allowed, bucket }: DeploymentRules, declaration: Declaration): Declaration {
  if (!declaration.valid) return declaration;
  const problems = [
    ...networkProblems(declaration.pipeline, allowed),
    ...imageProblems(declaration.pipeline, allowed),
    ...frameworkProblems(declaration.pipeline),
    ...indexProblems(declaration.pipeline, allowed),
    ...prefixProblems(declaration.pipeline, { allowed, bucket }),
    ...registryProblems(declaration.pipeline, allowed),
  ];
  return problems.length === 0 ? declaration : { valid: false, problems };
}

function networkProblems({ compute }: Pipeline, { subnets, securityGroups }: Allowed): Problem[] {
  const regions = compute.regions ?? [];
  const vpcs = [
    { path: 'compute.vpc', vpc: compute.vpc },
    ...regions.map(({ vpc }, index) => ({ path: `compute.regions[${index}].vpc`, vpc })),
  ];
  return vpcs.flatMap(({ path, vpc }) => [
    ...(vpc?.subnets ?? []).flatMap(({ id }, index) =>
      idProblem(`${path}.subnets[${index}].id`, id, { parameter: 'subnets', allowed: subnets }),
    ),
    ...(vpc?.securityGroupIds ?? []).flatMap((id, index) =>
      idProblem(`${path}.securityGroupIds[${index}]`, id, {
        parameter: 'securityGroups',
        allowed: securityGroups,
      }),
    ),
  ]);
}

interface AllowedList {
  readonly parameter: string;
  readonly allowed: readonly string[];
}

const idProblem = (path: string, value: string, list: AllowedList): Problem[] =>
  list.allowed.includes(ANY) || list.allowed.includes(value) ? [] : [notAllowed(path, value, list)];

function notAllowed(path: string, value: string, { parameter, allowed }: AllowedList): Problem {
  const instead = allowed.length === 0 ? '' : `use ${allowed.join(' or ')}, or `;
  const list = [...allowed, value].join(',');
  const message = `"${value}" is not allowed by the deployment: ${instead}deploy with --param="${parameter}=${list}"`;
  return { path, message };
}

const REGISTRY = /^(\d{12})\.dkr\.ecr(?:-fips)?\.[a-z0-9-]+\.amazonaws\.com(?:\.cn)?\/./;

/** The launch would find it too, after the data was packed. */
const frameworkProblems = (pipeline: Pipeline): Problem[] => {
  const problem = frameworkProblem(pipeline);
  return problem === undefined ? [] : [problem];
};

function imageProblems({ training: { image } }: Pipeline, { account, imageAccounts }: Allowed): Problem[] {
  if (image === undefined) return [];
  const owner = REGISTRY.exec(image)?.[1];
  const path = 'training.image';
  if (owner === undefined) {
    const message = `"${image}" is not an image in Amazon ECR, and SageMaker reads no other registry: push it to ${account}.dkr.ecr.<region>.amazonaws.com`;
    return [{ path, message }];
  }
  if (owner === account || [...imageAccounts, ...AWS_IMAGE_ACCOUNTS].includes(owner)) return [];
  const list = [...imageAccounts, owner].join(',');
  const message = `"${image}" is in the account ${owner}, which the deployment does not allow: push it to ${account}, or deploy with --param="imageAccounts=${list}"`;
  return [{ path, message }];
}

function indexProblems({ training: { packageIndex } }: Pipeline, allowed: Allowed): Problem[] {
  const arn = packageIndex && indexCredentialsArn(packageIndex);
  const isRepository = packageIndex?.codeArtifact !== undefined;
  const parameter = isRepository ? 'packageIndexRepository' : 'packageIndexSecret';
  if (arn === undefined || arn === allowed[parameter]) return [];
  const instead = allowed[parameter] === '' ? '' : `use ${allowed[parameter]}, or `;
  const message = `"${arn}" is not allowed by the deployment: ${instead}deploy with --param="${parameter}=${arn}"`;
  return [{ path: `training.packageIndex.${isRepository ? 'codeArtifact' : 'secret'}`, message }];
}

function registryProblems({ registries }: Pipeline, allowed: Allowed): Problem[] {
  if (registries === undefined || allowed.registries) return [];
  const message =
    'the deployment hands no models over: leave it out, or deploy with --param="registries=yes"';
  return [{ path: 'registries', message }];
}

/** The folder of the archive, or of the run's models; empty where the pipeline's own runs give it. */
function modelPrefix(bucket: string, startFrom = ''): string {
  const run = parseRunId(startFrom);
  if (run !== undefined) return s3Uri(bucket, bucketKeys.models(run.pipeline, startFrom));
  return startFrom.slice(0, startFrom.lastIndexOf('/') + 1);
}

function prefixProblems(
  { name, training }: Pipeline,
  { allowed: { sharedPrefixes }, bucket }: { readonly allowed: Allowed; readonly bucket: string },
): Problem[] {
  const readable = [s3Uri(bucket, `${name}/`), ...sharedPrefixes];
  const channels = Object.entries(training.channels ?? {}).flatMap(([channel, source]) =>
    's3' in source ? [[`training.channels.${channel}.s3`, source.s3] as const] : [],
  );
  const declared = [
    ['training.source', training.source] as const,
    ['training.startFrom', modelPrefix(bucket, training.startFrom)] as const,
    ...channels,
  ];
  return declared
    .filter(([, uri]) => uri.startsWith('s3://') && !readable.some((prefix) => uri.startsWith(prefix)))
    .map(([path, uri]) => {
      const list = [...sharedPrefixes, uri].join(',');
      const message = `"${uri}" is outside of what the pipeline's scripts may read: use a prefix under ${readable.join(' or ')}, or deploy with --param="sharedPrefixes=${list}"`;
      return { path, message };
    });
}
