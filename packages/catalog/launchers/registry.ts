/** Every launcher's facts, by its name in declarations and records. */
import { DEFAULT_LAUNCHER, type LauncherName } from '@tidewheel/declaration/launchers.ts';
import { ec2Facts } from './ec2.ts';
import type { LauncherFacts } from './launcher-facts.ts';
import { sageMakerFacts } from './sagemaker.ts';

export const launcherFacts: Readonly<Record<LauncherName, LauncherFacts>> = {
  sagemaker: sageMakerFacts,
  ec2: ec2Facts,
};

/** As a suffix of a pool's name in tables: SageMaker goes without saying. */
export const launcherSuffix = (launcher: LauncherName): string =>
  launcher === DEFAULT_LAUNCHER ? '' : ` ${launcherFacts[launcher].serviceName}`;
