/**
 * The words by which a host says that the platform failed and the script did not: the run then goes on elsewhere.
 *
 * In: the text of a failure, as a host or SageMaker gives it. Out: which part failed. No errors. `launch/job/platform-fault.ts`
 * reads them; the agent and the hosts of EC2 write them.
 */

/** storage: S3. disk: it is full. packages: an index. */
export const HOST_FAULTS = ['storage', 'disk', 'packages'] as const;
export type HostFault = (typeof HOST_FAULTS)[number];

/** In front of what failed. */
export const PLATFORM_FAILURE = 'Platform failure ({fault}): ';

/** Of a host whose disk is so full that the failure file stays empty: EX_IOERR. */
export const DISK_FULL_EXIT_CODE = 74;

const [BEFORE = '', AFTER = ''] = PLATFORM_FAILURE.split('{fault}');

/** @returns undefined for a text that begins with other words */
export const hostFaultOf = (failure: string): HostFault | undefined => {
  const lower = failure.toLowerCase();
  return HOST_FAULTS.find((fault) => lower.startsWith(`${BEFORE}${fault}${AFTER}`.toLowerCase()));
};
