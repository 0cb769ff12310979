/**
 * Reads from FailureReason which part of the platform failed, by the words of packages/contract/failure.ts, of SageMaker,
 * of EC2's StateReason, and of the libraries that meet a broken host. The description of a fleet writes NO_REPORT and
 * `endedByEc2`.
 */

import { DISK_FULL_EXIT_CODE, hostFaultOf } from '@tidewheel/contract/failure.ts';
import type { PlatformFault } from '@tidewheel/placement/records.ts';
import { type AwsErrorClass, awsErrorClass } from '../../records/aws-error-class.ts';
import { withRemedy } from '../../records/aws-error-table.ts';

export const NO_REPORT = 'InternalServerError: no report from';

/** SageMaker puts its class in front of what the agent wrote. */
const CLASS = /^\s*(?:AlgorithmError|InternalServerError):?\s*/i;

const WORDLESS = new RegExp(`^\\s*AlgorithmError:\\s*,\\s*exit code: ${DISK_FULL_EXIT_CODE}\\s*$`, 'i');

/** The agent's own messages: another host disappeared, or this host was stopped. The script is not at fault. */
export const INTERRUPTED: readonly RegExp[] = [
  /^\s*AlgorithmError:?\s*Interrupted: host /i,
  /^\s*AlgorithmError\b.*, exit code: 143\s*$/is,
];

/** The agents ended a script of which no host did anything (`limits.hangSeconds`). No capacity was lost. */
export const HUNG = /^\s*AlgorithmError:?\s*The script hung\b/i;

interface Cause {
  readonly fault: PlatformFault;
  readonly said: RegExp;
}

/**
 * SageMaker's own words, in the order in which they are tried. A script's words stand behind AlgorithmError.
 * Seen in public threads, read on 2026-11-29: huggingface/notebooks 138, aws/sagemaker-python-sdk 1968 and 2199,
 * aws/amazon-sagemaker-operator-for-k8s 22, aws/amazon-sagemaker-examples 4384, aws-samples/sagemaker-run-notebook 32,
 * DIAGNijmegen/rse-grand-challenge (sagemaker_base.py).
 */
const SERVICE_CAUSES: readonly Cause[] = [
  {
    fault: 'disk',
    said: /ENOSPC|EDQUOT|no space left on device|insufficient disk space|failed archive status/i,
  },
  { fault: 'memory', said: /instance type with more memory|out of memory/i },
  {
    fault: 'image',
    said: /cannot pull \w+ container|(?:pull|download)\w* (?:the )?(?:training |algorithm )?image\b/i,
  },
  { fault: 'network', said: /mount.*file system|file system.*mount/i },
  {
    fault: 'storage',
    said: /S3 VPC endpoint|request to S3|(?:download|upload) failed.*(?:AccessDenied|Access Denied|forbidden|s3:(?:Get|Put|List)\w+|NoSuchBucket)/is,
  },
];
const OF_SERVICE = /^\s*(?:InternalServerError|ClientError)\b/i;

/**
 * What libraries say of a host that is broken, inside a script's error.
 * https://docs.nvidia.com/cuda/cuda-runtime-api (cudaErrorECCUncorrectable, cudaErrorNvlinkUncorrectable,
 * cudaErrorSystemNotReady), https://docs.nvidia.com/deploy/xid-errors, NCCL's ncclSystemError, Neuron's NRT_EXEC_HW_ERR
 */
const BROKEN_HOST =
  /uncorrectable (?:ECC|NVLink) error|ECC_?UNCORRECTABLE|\bNVRM: Xid|\bXid \(|GPU (?:has fallen off the bus|is lost)|CUDA error: system not yet initialized|NCCL.*unhandled system error|ncclSystemError|NRT_EXEC_HW_ERR/is;

export function platformFaultOf(reason = ''): PlatformFault | undefined {
  if (reason.startsWith(NO_REPORT)) return 'silent';
  const end = endOf(reason);
  if (end !== undefined) return FAULT_OF_END[end];
  if (WORDLESS.test(reason)) return 'disk';
  const written = reason.replace(CLASS, '');
  const reported = written === reason ? undefined : hostFaultOf(written);
  if (reported !== undefined) return reported;
  return isBroken(reason) ? 'hardware' : serviceFaultOf(reason);
}

/** A script that is stopped, or whose peers are, says the same. */
const isBroken = (reason: string): boolean =>
  BROKEN_HOST.test(reason) && !INTERRUPTED.some((each) => each.test(reason));

function serviceFaultOf(reason: string): PlatformFault | undefined {
  if (!OF_SERVICE.test(reason)) return undefined;
  const cause = SERVICE_CAUSES.find(({ said }) => said.test(reason));
  // A ClientError is about the job and its data. No script wrote it.
  return cause?.fault ?? (/^\s*ClientError\b/i.test(reason) ? 'refused' : undefined);
}

/** Whether the failure text of a host begins with the prefix. */
export const isPlatformFailure = (failure: string): boolean => hostFaultOf(failure) !== undefined;

// How EC2 ends a host: the code of its StateReason.
// https://docs.aws.amazon.com/AWSEC2/latest/APIReference/API_StateReason.html

const ENDED = /^InternalServerError: EC2 ended \S+ with ([\w.]+)/;

export const endedByEc2 = (instanceId: string, code: string, message = ''): string =>
  `InternalServerError: EC2 ended ${instanceId} with ${withRemedy(code, `${code}: ${message}`)}`;

/** The class of EC2's reason; undefined for another failure. */
const endOf = (reason: string): AwsErrorClass | undefined => {
  const code = ENDED.exec(reason)?.[1];
  return code === undefined ? undefined : awsErrorClass({ name: code });
};

/** A quota of EC2's, such as that of EBS storage, in the way of a launched host. */
export const isQuotaEnd = (reason = ''): boolean => endOf(reason) === 'quota';

const FAULT_OF_END: Readonly<Record<AwsErrorClass, PlatformFault | undefined>> = {
  quota: undefined,
  capacity: undefined,
  throttle: 'hardware',
  transient: 'hardware',
  notFound: 'image',
  unsupported: 'refused',
  access: 'refused',
  credentials: 'refused',
  conflict: 'refused',
  state: 'refused',
  validation: 'refused',
  unknown: 'refused',
};
