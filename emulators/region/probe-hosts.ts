/** A probe compares types, so its hosts have clocks of their own. All other jobs go by the region's clock. */
import { instanceFacts } from '../../functions/core/catalog/catalog.ts';
import { parseRunId } from '../../functions/core/shared/keys.ts';

/** Attempt and installation, behind the run in a job's name (functions/core/launch/job/job-name.ts). */
const BEHIND_RUN = /-a[1-9]\d*-[0-9a-f]{6}$/;

/** @returns undefined for a job that is no probe, and for an unknown type */
export const vcpusOfProbe = (jobName: string, instanceType: string): number | undefined =>
  parseRunId(jobName.replace(BEHIND_RUN, ''))?.isProbe === true
    ? instanceFacts(instanceType.replace(/^ml\./, ''))?.vcpu
    : undefined;
