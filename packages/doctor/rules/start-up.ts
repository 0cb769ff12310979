/** What happens before the first step: download and installation. */
import type { Evidence } from './evidence.ts';
import { missingShare } from './file-mode.ts';
import { fileSystemOptions } from './file-system.ts';
import type { DoctorFinding, Option } from './gain.ts';
import type { Measures } from './measures.ts';

/** Below this size, a request costs more than its bytes. */
const SMALL_FILE_BYTES = 1e6;
/** A download at less than this share of the network's baseline is not limited by it. */
const SLOW_DOWNLOAD = 0.5;

export function startUpFindings(evidence: Evidence, measures: Measures): readonly DoctorFinding[] {
  const findings = [
    downloadFinding(evidence, measures),
    installFinding(evidence),
    imageFinding(evidence),
    skipFinding(evidence),
  ];
  return findings.filter((each) => each !== undefined);
}

function downloadFinding(evidence: Evidence, measures: Measures): DoctorFinding | undefined {
  const { phases, data, inputMode } = evidence;
  if (inputMode !== 'File' || phases.download <= 0) return undefined;
  const fileBytes = data.bytes / Math.max(1, data.files);
  const rate = data.bytes / phases.download;
  const atBaseline = data.bytes / measures.networkBytesPerSecond;
  const others = fileSystemOptions(evidence, measures);
  const facts = {
    downloadSeconds: phases.download,
    bytes: data.bytes,
    files: data.files,
    bytesPerSecond: rate,
  };
  if (fileBytes < SMALL_FILE_BYTES && rate < SLOW_DOWNLOAD * measures.networkBytesPerSecond)
    return {
      cause: 'small-files',
      evidence: { ...facts, fileBytes },
      change: { kind: 'pack' },
      startSeconds: phases.download - atBaseline,
      modelError: 0.1,
      unknown: ['the rate of this download once its files are large: the baseline of the type is assumed'],
      others,
    };
  const { pace } = measures;
  const missing = missingShare(evidence, pace);
  // What the disk reads shows what a step would stream.
  const bytes = missing > 0 ? (pace.diskBytesPerSecond * pace.stepSeconds) / missing : 0;
  const stream: Option = {
    change: { kind: 'input-mode', inputMode: 'FastFile' },
    stepSeconds: Math.max(pace.stepSeconds, bytes / measures.networkBytesPerSecond),
    startSeconds: phases.download,
    modelError: 0.15,
    unknown: ['how often a step would wait for the network, and whether the script reads in order'],
  };
  return { cause: 'download', evidence: facts, ...stream, others };
}

/** Half of an image is what a smaller one may leave out. */
const SPARED = 0.5;

function imageFinding({ phases: { image = 0 } }: Evidence): DoctorFinding | undefined {
  if (image <= 0) return undefined;
  return {
    cause: 'image',
    evidence: { imageSeconds: image },
    change: { kind: 'smaller-image' },
    startSeconds: SPARED * image,
    modelError: 1,
    unknown: ['how much of the image the script needs: half is assumed'],
  };
}

/** A gradient of several batches, or a look at the validation data, is no more than that. */
const LEAST_SKIP_SECONDS = 30;

function skipFinding({ skipped }: Evidence): DoctorFinding | undefined {
  if (skipped === undefined || skipped.seconds < LEAST_SKIP_SECONDS) return undefined;
  return {
    cause: 'skips-data',
    evidence: { skippedSeconds: skipped.seconds },
    change: { kind: 'resume-data', format: skipped.format },
    startSeconds: skipped.seconds,
    modelError: 0.1,
    unknown: ['how many more interruptions there are: each later one skips more'],
  };
}

function installFinding({ phases }: Evidence): DoctorFinding | undefined {
  if (phases.install <= 0) return undefined;
  return {
    cause: 'installation',
    evidence: { installSeconds: phases.install },
    change: { kind: 'image' },
    startSeconds: phases.install,
    modelError: 0.15,
    unknown: ['how much longer the larger image takes to arrive'],
  };
}
