/**
 * Reads from FailureReason which part of the platform failed. The agent and the hosts write the prefix
 * (training/agent/tidewheel_agent/platform_failure.py). The description of a fleet writes NO_REPORT.
 */
import type { PlatformFault } from '../../placement/attempts.ts';

export const NO_REPORT = 'InternalServerError: no report from';

/** SageMaker puts its class in front of what the agent wrote. */
const WRITTEN =
  /^\s*(?:AlgorithmError|InternalServerError):?\s*Platform failure \((storage|disk|packages)\): /i;

/** A disk that is full while the service moves data. A script's own words stand behind AlgorithmError. */
const DISK_FULL = /^\s*(?:InternalServerError|ClientError)\b.*(?:ENOSPC|EDQUOT|no space left on device)/is;

/** The agent's exit code where the disk is too full for its words (DISK_FULL_EXIT_CODE). */
const WORDLESS = /^\s*AlgorithmError:\s*,\s*exit code: 74\s*$/i;

export function platformFaultOf(reason = ''): PlatformFault | undefined {
  if (reason.startsWith(NO_REPORT)) return 'silent';
  if (DISK_FULL.test(reason) || WORDLESS.test(reason)) return 'disk';
  const word = WRITTEN.exec(reason)?.[1]?.toLowerCase();
  return word === 'storage' || word === 'disk' || word === 'packages' ? word : undefined;
}

/** Whether the failure text of a host begins with the prefix. */
export const isPlatformFailure = (failure: string): boolean =>
  platformFaultOf(`InternalServerError: ${failure}`) !== undefined;
