/** What a check of the deployment knows of each launcher. */

import { type LauncherName, launchersOf } from '@tidewheel/declaration/launchers.ts';
import type { Pipeline } from '@tidewheel/declaration/pipeline.ts';
import type { Quota, QuotaQuestion } from './account-view.ts';
import type { AwsAnswer, Finding } from './finding.ts';
import { fleetQuotaFindings } from './fleet-quotas.ts';
import { trainingQuotaFindings } from './training-quotas.ts';

interface LauncherCheck {
  readonly quotaFindings: (question: QuotaQuestion, look: AwsAnswer<readonly Quota[]>) => readonly Finding[];
  /** Whether its hosts get the public address that a subnet assigns. */
  readonly givesPublicAddress: boolean;
  /** Whether it launches instances of the account's own: from a machine image, on Spot under the account's role. */
  readonly usesOwnInstances: boolean;
}

export const launcherChecks: Readonly<Record<LauncherName, LauncherCheck>> = {
  // https://docs.aws.amazon.com/sagemaker/latest/dg/train-vpc.html
  sagemaker: {
    quotaFindings: trainingQuotaFindings,
    givesPublicAddress: false,
    usesOwnInstances: false,
  },
  ec2: { quotaFindings: fleetQuotaFindings, givesPublicAddress: true, usesOwnInstances: true },
};

export const usesOwnInstances = ({ compute }: Pipeline): boolean =>
  launchersOf(compute).some((launcher) => launcherChecks[launcher].usesOwnInstances);
