/** What the doctor says: a cause, its evidence, a remedy, its gain, and what cannot be known. */

export type Cause =
  | 'download'
  | 'small-files'
  | 'installation'
  | 'too-few-workers'
  | 'too-many-workers'
  | 'preparation'
  | 'periodic-gaps'
  | 'host-memory'
  | 'network'
  | 'checkpoint-stall'
  | 'gradient-exchange'
  | 'slow-host'
  | 'accelerator-too-large'
  | 'nothing-wrong';

/** What a remedy changes; `text` says it in words. */
export type Change =
  | { readonly kind: 'input-mode'; readonly inputMode: 'File' | 'FastFile' }
  | { readonly kind: 'pack' }
  | { readonly kind: 'image' }
  | { readonly kind: 'workers'; readonly workers: number }
  | { readonly kind: 'out-of-order' }
  | { readonly kind: 'instance-type'; readonly type: string }
  | { readonly kind: 'helpers'; readonly type: string; readonly nodes: number }
  | { readonly kind: 'prepare-when-packing' }
  | { readonly kind: 'save-in-background' }
  | { readonly kind: 'compress-exchange' }
  | { readonly kind: 'replace-host'; readonly host: number };

export interface Remedy {
  readonly change: Change;
  readonly where: 'declaration' | 'script' | 'run';
  readonly text: string;
}

export interface Interval {
  readonly low: number;
  readonly expected: number;
  readonly high: number;
}

export interface Verdict {
  readonly cause: Cause;
  readonly evidence: Readonly<Record<string, number>>;
  readonly remedy: Remedy | undefined;
  /** Over the whole job. */
  readonly gain: { readonly seconds: Interval; readonly dollars: Interval };
  readonly unknown: readonly string[];
  /** What limits the steps once the remedy is taken. */
  readonly next: string | undefined;
}

/** A remedy in words: the field of the declaration, or the line of the script. */
export function remedyOf(change: Change): Remedy {
  const declared = (text: string): Remedy => ({ change, where: 'declaration', text });
  const scripted = (text: string): Remedy => ({ change, where: 'script', text });
  switch (change.kind) {
    case 'input-mode':
      return declared(`training.inputMode: ${change.inputMode}`);
    case 'pack':
      return declared('packing.format: webdataset, so that few large shards are read instead of many files');
    case 'image':
      return declared('training.image: an image that has the packages of requirements.txt');
    case 'workers':
      return scripted(`DataLoader(…, num_workers=${change.workers})`);
    case 'out-of-order':
      return scripted('DataLoader(…, in_order=False)');
    case 'instance-type':
      return declared(`compute.instanceTypes: ${change.type}`);
    case 'helpers':
      return declared(`compute.helpers: ${change.nodes} x ${change.type} (strategy ray or data-service)`);
    case 'prepare-when-packing':
      return declared('packing.prepare.image: prepare once when packing, not in every epoch');
    case 'save-in-background':
      return scripted('torch.save(…): copy the state to host memory, and write it in a thread');
    case 'compress-exchange':
      return scripted('model.register_comm_hook(None, default_hooks.fp16_compress_hook)');
    case 'replace-host':
      return { change, where: 'run', text: `replace host ${change.host}: resume from the newest checkpoint` };
    default:
      return change satisfies never;
  }
}
