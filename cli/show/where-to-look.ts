/** What a person needs to reach the region with tools of their own. */
import { join } from 'node:path';
import { bucketKeys, s3Uri } from '@tidewheel/contract/bucket-keys.ts';
import { environmentFor } from '@tidewheel/emulators/region/clients.ts';
import type { Region } from '@tidewheel/emulators/region/region.ts';
import type { MarketScript } from '@tidewheel/emulators/spot-market/spot-market.ts';
import pc from 'picocolors';
import { placeOfState } from '../command/typed.ts';

export const dropFolderOf = (stateDirectory: string): string => join(stateDirectory, 'drop');

type Reached = Pick<Region, 'endpoints' | 'credentials' | 'stack'>;

const environmentOf = ({ endpoints, credentials, stack }: Reached): Readonly<Record<string, string>> => ({
  ...environmentFor(endpoints, credentials),
  TIDEWHEEL_TABLE: stack.table,
  API_URL: stack.apiUrl,
});

const wordsFor = (state: string): string => placeOfState(state).replace(/^(?=.)/, ' ');

/** For a program that has started the region with --json. */
export const regionDocument = (region: Reached, stateDirectory: string, pageAddress?: string) => ({
  apiUrl: region.stack.apiUrl,
  bucket: region.stack.bucket,
  page: pageAddress,
  endpoints: region.endpoints,
  state: stateDirectory,
  dropFolder: dropFolderOf(stateDirectory),
  environment: environmentOf(region),
});

interface Shown {
  /** The state's folder. */
  readonly state: string;
  readonly market: MarketScript;
  readonly pageAddress: string | undefined;
}

export function whereToLook(region: Reached, { state, market, pageAddress }: Shown): string[] {
  const { endpoints, stack } = region;
  const exports = Object.entries(environmentOf(region)).map(([name, value]) => `${name}=${value}`);
  return [
    ...(pageAddress === undefined ? [] : [`    in a browser     ${pageAddress}`]),
    `    S3 and all else  ${endpoints.aws}   bucket ${stack.bucket}`,
    `    SageMaker        ${endpoints.sageMaker}   aws sagemaker list-training-jobs`,
    `    Spot market      ${endpoints.ec2}   aws ec2 get-spot-placement-scores …`,
    ...(market.kind === 'demo'
      ? [
          '                     takes the Spot capacity of each run once, after its first checkpoints (--market calm: never)',
        ]
      : []),
    `    API              ${stack.apiUrl}   (SigV4; see docs/api.md)`,
    `    drop folder      ${dropFolderOf(state)}/<pipeline>/   its files go to <pipeline>/incoming/`,
    `    in a terminal    tidewheel watch | logs | why | stop | interrupt [RUN]${wordsFor(state)}   (in a clone: npx --no-install tidewheel …)`,
    // With a profile or a session token of the shell's own, a client would not sign with the region's key.
    pc.dim(`    for a shell      unset AWS_PROFILE AWS_SESSION_TOKEN; export ${exports.join(' ')}`),
    '',
  ];
}

/** The next steps of a user once the region is ready. */
export function nextSteps({ stack }: Pick<Region, 'stack'>, stateDirectory: string): string[] {
  const declaration = s3Uri(stack.bucket, bucketKeys.pipeline('<pipeline>'));
  return [
    `    declare          tidewheel init, then tidewheel apply${wordsFor(stateDirectory)}; or aws s3 cp my-pipeline.yaml ${declaration}`,
    `    then drop        tidewheel drop my-data${wordsFor(stateDirectory)}; or cp -r my-data/. ${dropFolderOf(stateDirectory)}/<pipeline>/`,
  ];
}
