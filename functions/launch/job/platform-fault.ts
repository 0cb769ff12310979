/**
 * Reads from FailureReason which part of the platform failed, by the words of packages/contract/failure.ts. The
 * description of a fleet writes NO_REPORT.
 */

import { DISK_FULL_EXIT_CODE, hostFaultOf } from '@tidewheel/contract/failure.ts';
import type { PlatformFault } from '@tidewheel/placement/records.ts';

export const NO_REPORT = 'InternalServerError: no report from';

/** SageMaker puts its class in front of what the agent wrote. */
const CLASS = /^\s*(?:AlgorithmError|InternalServerError):?\s*/i;

/** A disk that is full while the service moves data. A script's own words stand behind AlgorithmError. */
const DISK_FULL = /^\s*(?:InternalServerError|ClientError)\b.*(?:ENOSPC|EDQUOT|no space left on device)/is;

const WORDLESS = new RegExp(`^\\s*AlgorithmError:\\s*,\\s*exit code: ${DISK_FULL_EXIT_CODE}\\s*$`, 'i');

export function platformFaultOf(reason = ''): PlatformFault | undefined {
  if (reason.startsWith(NO_REPORT)) return 'silent';
  if (DISK_FULL.test(reason) || WORDLESS.test(reason)) return 'disk';
  const written = reason.replace(CLASS, '');
  return written === reason ? undefined : hostFaultOf(written);
}

/** Whether the failure text of a host begins with the prefix. */
export const isPlatformFailure = (failure: string): boolean =>
  platformFaultOf(`InternalServerError: ${failure}`) !== undefined;
