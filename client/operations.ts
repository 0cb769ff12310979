// Written by `npm run openapi` from the schemas in functions/core/api; edit those instead.

export type Attempt = {
  readonly runId: string;
  readonly pipeline: string;
  readonly attempt: number;
  readonly jobName: string;
  readonly launcher: "sagemaker" | "ec2";
  readonly status: "starting" | "waitingForCapacity" | "running" | "done" | "interrupted" | "recalled" | "failed";
  readonly placement: Placement;
  readonly createdAt: string;
  readonly updatedAt: string;
  /** When its hosts were there. */
  readonly startedAt?: string | undefined;
  /** From the launch to the start of the script. */
  readonly startUp?: {
    /** Seconds. */
    readonly hosts: number;
    /** Seconds. */
    readonly download: number;
    /** Seconds. */
    readonly image: number;
  } | undefined;
  readonly progressBefore?: Progress | undefined;
  readonly progressAfter?: Progress | undefined;
  /** How the script went on from what earlier attempts had saved. */
  readonly resume?: {
    readonly checkpoint?: {
      readonly name: string;
      readonly step: number;
      readonly unit?: "step" | "epoch" | "saves" | undefined;
      readonly format?: string | undefined;
    } | undefined;
    readonly repairs: readonly ({
      readonly name: string;
      readonly problem: string;
      readonly instead: string;
      readonly step?: number | undefined;
    })[];
    readonly verdict?: {
      readonly kind: "resumed" | "beganAgain";
      readonly evidence: "log" | "checkpoint";
      readonly position: number;
      readonly beganAt: number;
    } | undefined;
  } | undefined;
  readonly recall?: {
    readonly cause: "capacity" | "budget" | "deadline" | "spot" | "time" | "request";
    readonly why: string;
    readonly at: string;
  } | undefined;
  readonly outcome?: {
    readonly kind: "completed" | "interrupted" | "capacity" | "timeLimit" | "serviceError" | "userError" | "recalled" | "stopped";
    readonly message: string;
    readonly startedAt?: string | undefined;
    readonly scriptStartedAt?: string | undefined;
    /** From the launch to the start of the script. */
    readonly startUp?: {
      /** Seconds. */
      readonly hosts: number;
      /** Seconds. */
      readonly download: number;
      /** Seconds. */
      readonly image: number;
    } | undefined;
    readonly endedBeforeScript?: true | undefined;
    readonly endedAt?: string | undefined;
    /** Seconds. */
    readonly trainingSeconds: number;
    /** Seconds. */
    readonly billableSeconds: number;
    readonly quota?: true | undefined;
    readonly fault?: "silent" | "storage" | "disk" | "packages" | undefined;
    readonly interruptions: number;
    readonly modelUri?: string | undefined;
  } | undefined;
  /** Where its output is in CloudWatch Logs. */
  readonly log?: {
    readonly group: string;
    readonly streamPrefix: string;
  } | undefined;
  /** The shards that it reads, and how they reach its script. */
  readonly input?: {
    readonly mode: "File" | "FastFile" | "Pipe";
    readonly shards: number;
    readonly bytes: number;
  } | undefined;
  /** The doctor's remedies that it started with. */
  readonly applied?: readonly ({
    readonly kind: string;
  })[] | undefined;
  readonly diagnosis?: {
    readonly at: string;
    /** Whether the attempt had ended. */
    readonly isFinal?: boolean | undefined;
    readonly speed?: {
      /** Of all hosts together. */
      readonly samplesPerSecond?: number | undefined;
      readonly samplesPerDollar?: number | undefined;
      readonly stepSeconds: {
        /** Seconds. */
        readonly median: number;
        /** Seconds. */
        readonly p95: number;
      };
      /** Share of 1. */
      readonly cpuBusy: number;
      /** Share of 1. */
      readonly gpuBusy?: number | undefined;
      /** Measured time. */
      readonly seconds: number;
      readonly steps: number;
    } | undefined;
    /** What one host reads while it steps. */
    readonly reading?: {
      readonly inputMode: "File" | "FastFile";
      readonly bytesPerStep: number;
      readonly dataBytes: number;
      readonly processBytes: number;
    } | undefined;
    readonly verdicts: readonly ({
      readonly cause: string;
      readonly evidence: Readonly<Record<string, number>>;
      readonly remedy?: {
        readonly change: {
          readonly kind: string;
        };
        readonly where: "declaration" | "script" | "run";
        readonly text: string;
      } | undefined;
      /** Over the whole job. */
      readonly gain: {
        readonly seconds: {
          readonly low: number;
          readonly expected: number;
          readonly high: number;
        };
        readonly dollars: {
          readonly low: number;
          readonly expected: number;
          readonly high: number;
        };
      };
      /** Further remedies of the same cause, the most worthwhile first. */
      readonly others?: readonly ({
        readonly remedy: {
          readonly change: {
            readonly kind: string;
          };
          readonly where: "declaration" | "script" | "run";
          readonly text: string;
        };
        /** Over the whole job. */
        readonly gain: {
          readonly seconds: {
            readonly low: number;
            readonly expected: number;
            readonly high: number;
          };
          readonly dollars: {
            readonly low: number;
            readonly expected: number;
            readonly high: number;
          };
        };
        readonly unknown: readonly (string)[];
      })[] | undefined;
      /** Further remedies, without a forecast. */
      readonly also: readonly (string)[];
      readonly unknown: readonly (string)[];
      /** What limits the steps after the remedy. */
      readonly next?: string | undefined;
    })[];
  } | undefined;
  readonly restoredAt?: string | undefined;
};

export type Placement = {
  readonly pool: Pool;
  readonly topology: Topology;
  readonly subnetId?: string | undefined;
  /** On-Demand price of one node in an hour. */
  readonly onDemandHourlyUsd: number;
  /** On-Demand price of all helper nodes together. */
  readonly helpersHourlyUsd?: number | undefined;
  /** Of the file systems that channels read, if known. */
  readonly fileSystemsHourlyUsd?: number | undefined;
  /** Copies of shards and checkpoints to another region. */
  readonly transfer?: {
    readonly gigabytes: number;
    /** US dollars. */
    readonly usd: number;
    /** Seconds. */
    readonly seconds: number;
    readonly priceNote: string;
  } | undefined;
  /** Of training, of the whole run. */
  readonly expectedSeconds?: number | undefined;
  /** Seconds. */
  readonly maximumRunSeconds: number;
  /** Seconds. */
  readonly maximumWaitSeconds?: number | undefined;
  /** The last time for On-Demand to meet the deadline. */
  readonly spotUntil?: string | undefined;
  readonly reason: string;
  readonly decidedAt: string;
};

export type PlacementDecision = {
  readonly kind: "launch";
  readonly placement: {
    readonly pool: Pool;
    readonly topology: Topology;
    readonly subnetId?: string | undefined;
    /** On-Demand price of one node in an hour. */
    readonly onDemandHourlyUsd: number;
    /** On-Demand price of all helper nodes together. */
    readonly helpersHourlyUsd?: number | undefined;
    /** Of the file systems that channels read, if known. */
    readonly fileSystemsHourlyUsd?: number | undefined;
    /** Copies of shards and checkpoints to another region. */
    readonly transfer?: {
      readonly gigabytes: number;
      /** US dollars. */
      readonly usd: number;
      /** Seconds. */
      readonly seconds: number;
      readonly priceNote: string;
    } | undefined;
    /** Of training, of the whole run. */
    readonly expectedSeconds?: number | undefined;
    /** Seconds. */
    readonly maximumRunSeconds: number;
    /** Seconds. */
    readonly maximumWaitSeconds?: number | undefined;
    /** The last time for On-Demand to meet the deadline. */
    readonly spotUntil?: string | undefined;
    readonly reason: string;
    readonly decidedAt: string;
    readonly considered: readonly (PoolAssessment)[];
  };
} | {
  readonly kind: "wait";
  /** Seconds. */
  readonly seconds: number;
  readonly reason: string;
  readonly considered: readonly (PoolAssessment)[];
} | {
  readonly kind: "giveUp";
  readonly reason: string;
  readonly considered: readonly (PoolAssessment)[];
};

export type Pool = {
  /** Name on EC2, without ml. */
  readonly instanceType: string;
  /** Such as use1-az4; absent where SageMaker chooses. */
  readonly zoneId?: string | undefined;
  readonly purchaseOption: "spot" | "on-demand";
  /** Absent in the data bucket's own region. */
  readonly region?: string | undefined;
  readonly launcher: "sagemaker" | "ec2";
};

export type PoolAssessment = {
  readonly pool: Pool;
  readonly topology: Topology;
  /** Spot placement score, 1 to 10, for the whole gang. */
  readonly score?: number | undefined;
  /** Price of one node in an hour. */
  readonly hourlyUsd: number;
  /** US dollars. */
  readonly expectedCostUsd: number;
  /** Seconds. */
  readonly expectedSeconds: number;
  /** 90 % interval of the duration of the work. */
  readonly expectedSecondsBetween?: readonly [number, number] | undefined;
  /** Chance that the pool has capacity at this moment. */
  readonly chanceNow?: number | undefined;
  /** Seconds. */
  readonly expectedWaitSeconds?: number | undefined;
  /** Seconds. */
  readonly expectedUpSeconds?: number | undefined;
  /** Copies of shards and checkpoints to another region. */
  readonly transfer?: {
    readonly gigabytes: number;
    /** US dollars. */
    readonly usd: number;
    /** Seconds. */
    readonly seconds: number;
    readonly priceNote: string;
  } | undefined;
  /** Why the pool was or was not chosen. */
  readonly verdict: string;
};

export type Problem = {
  /** The field, such as limits.budgetUsd; empty for the whole. */
  readonly path: string;
  /** What was given, and what to give instead. */
  readonly message: string;
};

export type Progress = {
  readonly step: number;
  /** 0 where the script does not say. */
  readonly totalSteps: number;
  /** What the step counts; absent: step. */
  readonly unit?: "step" | "epoch" | "saves" | undefined;
  /** Name, below the checkpoints of the run. */
  readonly checkpoint: string;
  readonly checkpointBytes?: number | undefined;
  /** Of all attempts, at the time of the checkpoint. */
  readonly trainingSeconds?: number | undefined;
  /** How long the last save held up training. */
  readonly saveSeconds?: number | undefined;
  readonly usage?: {
    readonly cpuPercent?: number | undefined;
    readonly gpuPercent?: number | undefined;
  } | undefined;
  readonly metrics?: Readonly<Record<string, number>> | undefined;
  /** quiet: of a format that the agent does not know. */
  readonly proof?: "whole" | "quiet" | undefined;
  readonly comparedBy?: "checksums" | "sizes" | undefined;
  /** When it was saved. */
  readonly updatedAt: string;
};

export type Refusal = {
  /** What is wrong, and what to do. */
  readonly message: string;
  readonly problems?: readonly (Problem)[] | undefined;
};

export type Report = {
  readonly version: 1;
  readonly runId: string;
  readonly pipeline: string;
  readonly status: "succeeded" | "failed" | "stopped" | "empty";
  readonly failure?: string | undefined;
  readonly stop?: {
    readonly mode: "afterSave" | "now";
    readonly at: string;
    /** Who asked. */
    readonly requestedBy: string;
    readonly execution: number;
  } | undefined;
  readonly retry?: {
    /** 1 for the first one. */
    readonly number: number;
    readonly at: string;
    /** Who asked. */
    readonly requestedBy: string;
    /** How many attempts there were before. */
    readonly attempts: number;
  } | undefined;
  readonly modelUri?: string | undefined;
  readonly generations: readonly (string)[];
  readonly source?: string | undefined;
  /** Arrivals that are in no shard. */
  readonly rejected?: {
    readonly count: number;
    readonly byReason: Readonly<Record<string, number>>;
    readonly examples: readonly ({
      readonly key: string;
      readonly reason: string;
    })[];
  } | undefined;
  readonly metrics: Readonly<Record<string, number>>;
  readonly attempts: readonly ({
    readonly attempt: number;
    readonly jobName: string;
    readonly pool: Pool;
    readonly nodes: number;
    readonly outcome: "completed" | "interrupted" | "capacity" | "timeLimit" | "serviceError" | "userError" | "recalled" | "stopped";
    readonly message: string;
    readonly fromStep: number;
    readonly toStep: number;
    /** Seconds. */
    readonly trainingSeconds: number;
    /** Seconds. */
    readonly billableSeconds: number;
    /** Training that no checkpoint covers, or that was done again. */
    readonly lostSeconds: number;
    /** US dollars. */
    readonly costUsd: number;
    readonly speed?: {
      /** Of all hosts together. */
      readonly samplesPerSecond?: number | undefined;
      readonly samplesPerDollar?: number | undefined;
      readonly stepSeconds: {
        /** Seconds. */
        readonly median: number;
        /** Seconds. */
        readonly p95: number;
      };
      /** Share of 1. */
      readonly cpuBusy: number;
      /** Share of 1. */
      readonly gpuBusy?: number | undefined;
      /** Measured time. */
      readonly seconds: number;
      readonly steps: number;
    } | undefined;
    /** The doctor's remedies that it started with, and what they brought. */
    readonly applied?: {
      readonly changes: readonly (string)[];
      readonly measured?: {
        readonly besides: {
          readonly jobName: string;
          readonly speed: {
            /** Of all hosts together. */
            readonly samplesPerSecond?: number | undefined;
            readonly samplesPerDollar?: number | undefined;
            readonly stepSeconds: {
              /** Seconds. */
              readonly median: number;
              /** Seconds. */
              readonly p95: number;
            };
            /** Share of 1. */
            readonly cpuBusy: number;
            /** Share of 1. */
            readonly gpuBusy?: number | undefined;
            /** Measured time. */
            readonly seconds: number;
            readonly steps: number;
          };
          /** Seconds. */
          readonly startSeconds?: number | undefined;
        };
        readonly speed: {
          /** Of all hosts together. */
          readonly samplesPerSecond?: number | undefined;
          readonly samplesPerDollar?: number | undefined;
          readonly stepSeconds: {
            /** Seconds. */
            readonly median: number;
            /** Seconds. */
            readonly p95: number;
          };
          /** Share of 1. */
          readonly cpuBusy: number;
          /** Share of 1. */
          readonly gpuBusy?: number | undefined;
          /** Measured time. */
          readonly seconds: number;
          readonly steps: number;
        };
        /** From the start of the instances to that of the script, with its download. */
        readonly startSeconds?: number | undefined;
        /** Steps a second, over those before. */
        readonly stepRatio: number;
        readonly samplesPerDollarRatio?: number | undefined;
      } | undefined;
    } | undefined;
    readonly verdicts?: readonly ({
      readonly cause: string;
      readonly evidence: Readonly<Record<string, number>>;
      readonly remedy?: {
        readonly change: {
          readonly kind: string;
        };
        readonly where: "declaration" | "script" | "run";
        readonly text: string;
      } | undefined;
      /** Over the whole job. */
      readonly gain: {
        readonly seconds: {
          readonly low: number;
          readonly expected: number;
          readonly high: number;
        };
        readonly dollars: {
          readonly low: number;
          readonly expected: number;
          readonly high: number;
        };
      };
      /** Further remedies of the same cause, the most worthwhile first. */
      readonly others?: readonly ({
        readonly remedy: {
          readonly change: {
            readonly kind: string;
          };
          readonly where: "declaration" | "script" | "run";
          readonly text: string;
        };
        /** Over the whole job. */
        readonly gain: {
          readonly seconds: {
            readonly low: number;
            readonly expected: number;
            readonly high: number;
          };
          readonly dollars: {
            readonly low: number;
            readonly expected: number;
            readonly high: number;
          };
        };
        readonly unknown: readonly (string)[];
      })[] | undefined;
      /** Further remedies, without a forecast. */
      readonly also: readonly (string)[];
      readonly unknown: readonly (string)[];
      /** What limits the steps after the remedy. */
      readonly next?: string | undefined;
    })[] | undefined;
    /** Where its output is in CloudWatch Logs. */
    readonly log?: {
      readonly group: string;
      readonly streamPrefix: string;
    } | undefined;
  })[];
  /** Of all measured attempts, by nodes and type. */
  readonly speeds: readonly ({
    /** Such as 2 x g5.xlarge. */
    readonly topology: string;
    readonly attempts: readonly (number)[];
    readonly samplesPerSecond?: number | undefined;
    readonly samplesPerDollar?: number | undefined;
    readonly stepSeconds: {
      /** Seconds. */
      readonly median: number;
      /** Seconds. */
      readonly p95: number;
    };
    /** Measured time of all its attempts. */
    readonly seconds: number;
  })[];
  readonly interruptions: number;
  /** Seconds. */
  readonly lostSeconds: number;
  /** US dollars. */
  readonly costUsd: number;
  /** Part of it: the file systems that channels read. */
  readonly fileSystemsUsd?: number | undefined;
  /** Cost of the same useful work on On-Demand instances of the same type. */
  readonly onDemandUsd: number;
  /** The cheapest single On-Demand node that could have done that work. */
  readonly onDemandNode?: {
    readonly instanceType: string;
    readonly accelerators: number;
    readonly hours: number;
    /** US dollars. */
    readonly usd: number;
  } | undefined;
  /** US dollars. */
  readonly savedUsd: number;
  readonly savedPercent: number;
  readonly deadline: {
    readonly at?: string | undefined;
    readonly met: boolean | null;
  };
  readonly startedAt: string;
  readonly finishedAt: string;
  readonly timeline: readonly (TimelineEntry)[];
};

export type Run = {
  readonly runId: string;
  readonly pipeline: string;
  readonly batch: number;
  readonly status: RunStatus;
  readonly trigger: "arrival" | "schedule" | "api";
  /** A trial of other settings, which takes no batch. */
  readonly probe?: {
    readonly number: number;
  } | undefined;
  readonly execution: number;
  readonly createdAt: string;
  readonly updatedAt: string;
  readonly newestEventAt?: string | undefined;
  /** Of a person; absent where data or a schedule started the run. */
  readonly request?: {
    readonly at: string;
    /** Who asked. */
    readonly requestedBy: string;
    /** Fields that hold for this run alone. */
    readonly changed: readonly (string)[];
    /** The run that it does again. */
    readonly again?: string | undefined;
    /** SHA-256 of the packed source to train with. */
    readonly source?: string | undefined;
  } | undefined;
  readonly declaration?: RunDeclaration | undefined;
  /** When its batch was closed. */
  readonly closedAt?: string | undefined;
  readonly notifiedSince?: string | undefined;
  /** When its data was packed; absent without new data. */
  readonly sealedAt?: string | undefined;
  /** What it packed. */
  readonly generation?: string | undefined;
  /** Arrivals that are in no shard. */
  readonly rejected?: {
    readonly count: number;
    readonly byReason: Readonly<Record<string, number>>;
    readonly examples: readonly ({
      readonly key: string;
      readonly reason: string;
    })[];
  } | undefined;
  /** What it trains on, oldest first. */
  readonly generations?: readonly (string)[] | undefined;
  /** SHA-256 of the packed source. */
  readonly source?: string | undefined;
  readonly failure?: string | undefined;
  readonly stop?: {
    readonly mode: "afterSave" | "now";
    readonly at: string;
    /** Who asked. */
    readonly requestedBy: string;
    readonly execution: number;
  } | undefined;
  readonly retry?: {
    /** 1 for the first one. */
    readonly number: number;
    readonly at: string;
    /** Who asked. */
    readonly requestedBy: string;
    /** How many attempts there were before. */
    readonly attempts: number;
  } | undefined;
  readonly modelUri?: string | undefined;
  /** Of its report, once it has ended. */
  readonly result?: {
    readonly finishedAt: string;
    readonly attempts: number;
    readonly interruptions: number;
    /** Seconds. */
    readonly lostSeconds: number;
    /** US dollars. */
    readonly costUsd: number;
    /** US dollars. */
    readonly onDemandUsd: number;
    readonly isDeadlineMet: boolean | null;
  } | undefined;
  /** Who asked for the deletion of its checkpoints, and when. */
  readonly checkpointDeletion?: {
    readonly at: string;
    readonly requestedBy: string;
  } | undefined;
  /** What was deleted after its end. */
  readonly expired?: readonly ("work" | "checkpoints" | "source")[] | undefined;
};

export type RunDeclaration = {
  readonly name: string;
  readonly settle: {
    /** A batch is complete when nothing changed under incoming/ for this long. */
    readonly quietSeconds: number;
    /** A batch is closed after this long even if objects keep arriving. */
    readonly maximumWaitSeconds: number;
    /** An object with this name under incoming/ closes the batch at once, e.g. _SUCCESS. */
    readonly marker?: string | undefined;
  };
  readonly packing: {
    /** The shard format; docs/datasets.md compares them. */
    readonly format: "webdataset" | "tfrecord" | "recordio" | "mds" | "parquet" | "lines" | "records";
    /** Target size of a shard in 10^6 bytes. */
    readonly shardMegabytes: number;
    /** Seed of the shuffle. */
    readonly seed: number;
    /** Suffixes taken; anything else is rejected, with its reason in the manifest. Default: everything. */
    readonly accept?: readonly (string)[] | undefined;
    /** Names of further files to ignore; * stands for any characters, and a slash at the end makes a folder. Files that systems and tools leave (.DS_Store, Thumbs.db, __MACOSX/, _SUCCESS, *.tmp and others) are ignored without it; none: they are packed too. */
    readonly ignore?: "none" | readonly (string)[] | undefined;
    /** Where a sample gets its label: from the folder that holds it, from its key by labelPattern, or from the file of annotations. It becomes the member <key>.cls. */
    readonly label: "parentFolder" | "namePattern" | "annotations" | "none";
    /** For namePattern: the first group of this regular expression, found in the key under incoming/, is the label. */
    readonly labelPattern?: string | undefined;
    /** For annotations: the file that says which sample has which label. */
    readonly annotations?: {
      /** Key under incoming/ of a CSV file with a header line, or of JSON Lines. */
      readonly file: string;
      /** Column or field that names a sample: the key of one of its members under incoming/, or the key without suffix. */
      readonly key: string;
      /** Column or field with the label: a text or a number. */
      readonly label: string;
    } | undefined;
    /** integer: tfrecord, mds and parquet hold the label as an int64, and other labels are rejected. */
    readonly labelType: "text" | "integer";
    /** Shuffle all samples of a generation by the seed; false keeps the order of keys. */
    readonly shuffle: boolean;
    /** Make the number of shards a multiple of this, so that hosts and workers share them evenly. Default: the processes that train, as far as shards stay above 1 MB. */
    readonly shardsMultipleOf?: number | undefined;
    /** At least so many shards for each of the shardsMultipleOf workers, however small they get. Default: 4 for each process that trains, as far as shards stay above 1 MB. */
    readonly leastShardsPerWorker?: number | undefined;
    /** Splits the samples for good, each part in shards and a channel of its own. */
    readonly split?: {
      /** Share of the samples, or of the groups, for the channel train; all shares give 1. */
      readonly train: number;
      /** Share of the samples, or of the groups, for the channel validation; all shares give 1. */
      readonly validation?: number | undefined;
      /** Share of the samples, or of the groups, for the channel test; all shares give 1. */
      readonly test?: number | undefined;
      /** What a hash decides the split of: each sample by its key without suffix, or the group that groupPattern finds in it. */
      readonly by: "key" | "group";
      /** For by: group: the first group of this regular expression, found in the key under incoming/ without suffix. All samples with the same text are in one split. */
      readonly groupPattern?: string | undefined;
    } | undefined;
    /** Columns that each sample must have; others wait for the rest. learn: those of nearly all samples of the first generation. Default: only a text or label beside nothing waits, where most samples have data. */
    readonly require?: "learn" | readonly (string)[] | undefined;
    /** So long an incomplete sample waits for the rest of its members. Then it is rejected, and joined if the rest comes later. */
    readonly waitHours: number;
    /** Samples to reject as a whole, by the reason: notText for a text that is no UTF-8, notJson for a .json or a line of JSON Lines that is no JSON. conflictingLabels (the same bytes have another label) and singleSampleClasses (the class has one sample) leave them under incoming/ while the reason lasts. Default: they are packed and counted in the quality report. */
    readonly reject?: readonly ("notText" | "notJson" | "conflictingLabels" | "singleSampleClasses")[] | undefined;
    /** So many of the new objects, and always ten, may be unreadable and are left for a later run. If more are, the run fails, because its role is at fault. */
    readonly mayReject: string;
    /** Shards of unequal sample counts: leave them, repeat samples to fill them, or leave samples for later. */
    readonly remainder: "ragged" | "even" | "drop";
    /** Give every class the same number of samples: over copies samples of small classes, under leaves out samples of large ones. */
    readonly balance?: "over" | "under" | undefined;
    /** Only for the format lines. */
    readonly lines: {
      readonly kind: "text" | "jsonl" | "csv" | "libsvm";
      /** CSV sources with a header line: keep it once in each shard, or leave it out. */
      readonly header: "none" | "perShard" | "drop";
    };
    /** Only for the format records: what the arrivals are. */
    readonly records: {
      readonly kind: "tfrecord" | "recordio";
    };
    /** Only for the format tfrecord. */
    readonly tfrecord?: {
      /** gzip: each shard is one gzip file, read with compression_type='GZIP'. */
      readonly compression: "none" | "gzip";
    } | undefined;
    /** Images are decoded, turned upright, resized and encoded again before they are packed. */
    readonly prepare?: {
      readonly image: {
        /** Longest side in pixels; the ratio stays, and smaller images are not enlarged. */
        readonly maxSide?: number | undefined;
        /** Width in pixels; without height the ratio stays. */
        readonly width?: number | undefined;
        /** Height in pixels; without width the ratio stays. */
        readonly height?: number | undefined;
        /** With width and height: cover (default) crops, contain pads with background, fill distorts, inside and outside keep the ratio. */
        readonly fit?: "cover" | "contain" | "fill" | "inside" | "outside" | undefined;
        /** How prepared images are encoded; their names get its suffix. */
        readonly format: "jpeg" | "png" | "webp";
        /** Of jpeg and webp; default 90. */
        readonly quality?: number | undefined;
        /** Behind what is transparent, where the format has no transparency, and around it with contain. */
        readonly background: string;
        /** Members that are prepared; anything else stays as it is. */
        readonly columns: readonly (string)[];
        /** Members that hold a class for each pixel, as PNG: resized like the images, but to the nearest pixel, and kept as PNG. */
        readonly masks?: readonly (string)[] | undefined;
        /** Larger images are rejected before they are decoded. */
        readonly mostMegapixels: number;
        /** Size of a prepared image in 10^3 bytes, by which shards are planned; default: by its pixels. */
        readonly expectedKilobytes?: number | undefined;
      };
    } | undefined;
    /** Limits of the quality report. A run that passes one does not train until a person releases its data. */
    readonly hold?: {
      /** Most percentage points by which the share of any class may differ from the version before. */
      readonly classShare?: string | undefined;
      /** Most of the arrivals of a run that may be rejected. */
      readonly rejected?: string | undefined;
      /** Most of the samples of a run that may have the bytes of another one with a different label. */
      readonly conflictingLabels?: string | undefined;
      /** Most of the classes that may have a single sample. */
      readonly singleSampleClasses?: string | undefined;
      /** With packing.split: most of the samples of validation or test whose bytes another split may hold. */
      readonly leakage?: string | undefined;
    } | undefined;
    /** What becomes of the packed arrivals after the run. */
    readonly whenDone: "keep" | "delete";
  };
  /** A version of the dataset is named by its last generation. */
  readonly dataset?: {
    /** Train on the version that ends with this generation, whatever is packed later. */
    readonly pin?: string | undefined;
    /** Join small generations into a large one when there are so many; a generation is small when its shards are on average less than half as large as shardMegabytes. */
    readonly compactAfter: "never" | number;
    /** replace: a sample whose object was overwritten is trained on in its newest version only. keep: every version stays a sample of its own. */
    readonly onChange: "replace" | "keep";
    /** retract: a sample leaves the next version when one of its objects is deleted from incoming/, and what is left of it is packed as if it had just arrived. keep: it stays. */
    readonly onDelete: "keep" | "retract";
  } | undefined;
  readonly training: {
    /** How processes cooperate in training; docs/strategies.md says which needs what. */
    readonly strategy: "single" | "ddp" | "ray" | "mpi" | "parameter-server" | "multi-worker-mirrored" | "data-service";
    /** Prefix of the training code: s3://bucket/prefix/ or a prefix under the pipeline's own folder. */
    readonly source: string;
    readonly entryPoint?: string | undefined;
    /** A command instead of a Python script, such as [bash, run.sh] or [python, -m, package.module]. */
    readonly command?: readonly (string)[] | undefined;
    /** The command line as typed, instead of the hyperparameters. Placeholders: ${checkpoints}, ${model}, ${output}, ${source}, ${channel:NAME}, ${hyperparameters}; $$ is a dollar sign. An argument that ends with ? is left out where its path is missing, and so is a list of arguments that holds one. With a *, as in ${checkpoints}/epoch_*.pt?, it is the newest whole checkpoint of such a name. */
    readonly arguments?: readonly (string | readonly (string)[])[] | undefined;
    /** Environment variables of the script; values may have the placeholders of arguments. Not for secrets. */
    readonly environment?: Readonly<Record<string, string>> | undefined;
    /** The folder of the source in which the script runs; by default the source itself. ${checkpoints}: for a script that saves where it runs. */
    readonly workingDirectory?: string | undefined;
    /** What counts as a checkpoint, instead of the agent's own rules. automatic: the agent saves and restores a PyTorch script that does neither; strategies single and ddp. */
    readonly checkpoint?: "automatic" | {
      /** Where the script writes them: ${checkpoints} (default), a folder below it, or one below the folder in which it runs. */
      readonly folder?: string | undefined;
      /** What is one checkpoint: a file or a folder, such as epoch_*.pt or checkpoint-*. */
      readonly pattern?: string | undefined;
      /** name (default): the last number in the path; time: the newest file; or an expression with one group. */
      readonly step?: string | undefined;
      /** How many are kept; the agent deletes older ones. All by default. */
      readonly keep?: number | undefined;
    } | undefined;
    readonly progress?: {
      /** Read from each line that the script prints, in Python's syntax: (?P<step>…), (?P<total>…) and any metric. */
      readonly pattern: string;
    } | undefined;
    /** false: no hooks measure where the time of a step goes, so the doctor knows no steps. */
    readonly instrument?: boolean | undefined;
    /** Processes of a host with ddp or mpi; by default one for each of its accelerators. */
    readonly processesPerHost?: number | undefined;
    /** mpi: each process sees one GPU alone, that of its local rank (CUDA_VISIBLE_DEVICES). */
    readonly pinGpus?: boolean | undefined;
    readonly framework: "pytorch" | "tensorflow";
    readonly frameworkVersion: string;
    /** A training image of your own. */
    readonly image?: string | undefined;
    readonly hyperparameters: Readonly<Record<string, string | number | boolean | {
      readonly number: string;
    }>>;
    /** required (the default): a script that ends well and leaves no model has failed. */
    readonly model?: "required" | "none" | undefined;
    /** How shards reach the script: auto (the default) downloads what fits and is quick, else streams. */
    readonly inputMode?: "auto" | "File" | "FastFile" | "Pipe" | undefined;
    /** Further data by channel name: the script finds each under SM_CHANNEL_<NAME>. */
    readonly channels?: Readonly<Record<string, {
      /** A prefix under the pipeline's own folder, or s3://bucket/prefix/ among sharedPrefixes of the deployment. */
      readonly s3: string;
      /** Downloaded first, or streamed when read. */
      readonly inputMode: "File" | "FastFile";
    } | {
      /** An FSx for Lustre file system in the zone of a declared subnet. */
      readonly fsxLustre: string;
      /** Begins with the file system's mount name, such as /1234abcd/images. */
      readonly directory: string;
      /** Whether the script may write there. Default: ro. */
      readonly access: "ro" | "rw";
      /** Its storage capacity: from it come its price in plans, placements and reports. */
      readonly storageGigabytes?: number | undefined;
      /** Its price, where it is not that of SCRATCH_2 or EFS Standard in us-east-1. */
      readonly usdPerGigabyteMonth?: number | undefined;
    } | {
      /** An EFS file system with a mount target in each declared subnet. */
      readonly efs: string;
      readonly directory: string;
      /** Whether the script may write there. Default: ro. */
      readonly access: "ro" | "rw";
      /** What it holds: from it come its price in plans, placements and reports. */
      readonly storageGigabytes?: number | undefined;
      /** Its price, where it is not that of SCRATCH_2 or EFS Standard in us-east-1. */
      readonly usdPerGigabyteMonth?: number | undefined;
    }>> | undefined;
    /** A private package index for requirements.txt. */
    readonly packageIndex?: {
      /** A simple index as pip reads it, such as https://packages.example.com/simple/. */
      readonly url: string;
      /** Its credentials: {"username": …, "password": …}, or a token alone. */
      readonly secret?: string | undefined;
    } | undefined;
    /** Whether every host gets all shards or its share of them. */
    readonly distribution: "FullyReplicated" | "ShardedByS3Key";
  };
  readonly compute: {
    /** Interchangeable types; three or more score best. With needs: only these of those that meet them. */
    readonly instanceTypes?: readonly (string)[] | undefined;
    readonly nodes: number;
    /** What the training needs, instead of types and nodes: every topology that has it is weighed. */
    readonly needs?: {
      /** How many train together, over all nodes: the world size. 0 trains on CPUs. */
      readonly accelerators: number;
      /** Which accelerators will do; default: every NVIDIA one. */
      readonly kinds?: readonly ("T4" | "V100" | "A10G" | "L4" | "L40S" | "A100" | "H100" | "H200" | "Trainium")[] | undefined;
      /** Least memory of each. */
      readonly acceleratorMemoryGigabytes?: number | undefined;
      /** At least so many in one node, for strategies that need a fast link between them. */
      readonly acceleratorsPerNode?: number | undefined;
      /** Least host memory of a node. */
      readonly memoryGigabytes?: number | undefined;
      /** Least vCPUs of a node. */
      readonly vcpus?: number | undefined;
      readonly maximumNodes: number;
      /** The model is small: nodes without accelerators may train it as well. */
      readonly cpuInstead: boolean;
      /** A checkpoint of one number of nodes and processes may be resumed by another; docs/training.md says which recipes can. */
      readonly resumeOnOtherTopology: boolean;
    } | undefined;
    /** Where it may train. Default: only in the data bucket's own region. */
    readonly regions?: readonly ({
      readonly name: string;
      /** As compute.vpc, which is the one of the data bucket's region. */
      readonly vpc?: {
        readonly securityGroupIds: readonly (string)[];
        readonly subnets: readonly ({
          readonly id: string;
          readonly zoneId: string;
        })[];
      } | undefined;
    })[] | undefined;
    /** Groups of CPU nodes beside the nodes that train, for strategies that preprocess there. */
    readonly helpers?: readonly ({
      readonly name: string;
      readonly instanceType: string;
      readonly nodes: number;
    })[] | undefined;
    /** Such a group may be added when an attempt has measured that its hosts, not its accelerators, set the pace (strategy ray). */
    readonly mayAddHelpers?: {
      readonly name: string;
      /** Default: the c5 family. */
      readonly instanceTypes?: readonly (string)[] | undefined;
      readonly maximumNodes: number;
    } | undefined;
    /** Try managed Spot with helper groups. AWS does not say whether it takes both together. */
    readonly spotWithHelpers?: boolean | undefined;
    /** spot-then-on-demand changes to On-Demand when the deadline needs it. */
    readonly purchaseOption: "spot" | "on-demand" | "spot-then-on-demand";
    /** Where the job runs: sagemaker (the default), ec2 for instances of your own account, or cheapest: placement weighs both, each time. */
    readonly launcher?: "sagemaker" | "ec2" | "cheapest" | undefined;
    readonly ec2?: {
      /** A machine image with the AWS CLI and the framework, e.g. AWS's Deep Learning AMI. */
      readonly image: string;
      /** The Python that has the framework, e.g. /opt/pytorch/bin/python3. */
      readonly python: string;
      /** The image's root device: /dev/xvda on Amazon Linux, /dev/sda1 on Ubuntu. */
      readonly rootDevice: string;
      /** Whether the subnets reach S3 without a public address, by a NAT gateway or endpoints. Gangs of types with several network cards have no public address. */
      readonly privateSubnets: boolean;
    } | undefined;
    readonly volumeGigabytes: number;
    /** With a VPC a zone can be chosen: each attempt gets the one subnet of its zone. */
    readonly vpc?: {
      readonly securityGroupIds: readonly (string)[];
      readonly subnets: readonly ({
        readonly id: string;
        readonly zoneId: string;
      })[];
    } | undefined;
  };
  readonly limits: {
    /** From the close of the batch to the model; 24 unless patience or a value of time is given. */
    readonly deadlineHours?: number | undefined;
    /** Without a deadline: how long a run may stand still for cheap capacity, all its waits together. */
    readonly patienceHours?: number | undefined;
    /** What an hour sooner is worth. It is weighed against what capacity costs. */
    readonly valueOfTimeUsdPerHour?: number | undefined;
    /** Longest training time of one attempt. */
    readonly maximumRunSeconds: number;
    /** No attempt starts that may pass this sum for the run. */
    readonly budgetUsd?: number | undefined;
    readonly attempts: number;
    /** Ends the training of an attempt as finished after so many steps: for trials. It leaves no model. */
    readonly steps?: number | undefined;
  };
  readonly retention: {
    /** Plans, results of the packing map and notes of what a run read, after the end of the run. */
    readonly workDays: number | "forever";
    /** Checkpoints of a run that succeeded. Its model stays. */
    readonly checkpointDays: number | "forever";
    /** Checkpoints of a run that failed. */
    readonly failedCheckpointDays: number | "forever";
    /** The packed source of a run, if no other run of the pipeline uses it. */
    readonly sourceDays: number | "forever";
  };
  readonly doctor?: {
    /** safe: the next attempt takes remedies of the doctor that cannot change what is trained (docs/doctor.md). */
    readonly apply: "none" | "safe";
  } | undefined;
  /** Also start a run on this schedule (EventBridge Scheduler syntax, UTC). */
  readonly schedule?: string | undefined;
  /** Let a scheduled run train although nothing arrived. */
  readonly trainWithoutNewData: boolean;
  /** Topics and webhooks that hear of its runs. */
  readonly notify?: readonly ({
    /** An SNS topic, for e-mail, text messages and programs. */
    readonly topic?: string | undefined;
    /** A secret that holds the address of Slack's incoming webhook. */
    readonly slack?: string | undefined;
    /** A secret that holds the address of Discord's webhook. */
    readonly discord?: string | undefined;
    /** A secret that holds {"url": …, "key": …}: the key signs what is posted there. */
    readonly webhook?: string | undefined;
    /** What it hears of. Default: everything. */
    readonly on: readonly ("finished" | "failed" | "stopped" | "interrupted" | "stalled" | "doctor" | "budget" | "deadline")[];
    /** It hears of the first interruption of a run that comes after so many. */
    readonly afterInterruptions: number;
  })[] | undefined;
};

export type RunStatus = "settling" | "packing" | "placing" | "training" | "succeeded" | "failed" | "stopped" | "empty";

export type RunSummary = {
  readonly runId: string;
  readonly pipeline: string;
  readonly batch: number;
  readonly status: RunStatus;
  readonly trigger: "arrival" | "schedule" | "api";
  /** A trial of other settings, which takes no batch. */
  readonly probe?: {
    readonly number: number;
  } | undefined;
  readonly execution: number;
  readonly createdAt: string;
  readonly updatedAt: string;
  readonly newestEventAt?: string | undefined;
  /** Of a person; absent where data or a schedule started the run. */
  readonly request?: {
    readonly at: string;
    /** Who asked. */
    readonly requestedBy: string;
    /** Fields that hold for this run alone. */
    readonly changed: readonly (string)[];
    /** The run that it does again. */
    readonly again?: string | undefined;
    /** SHA-256 of the packed source to train with. */
    readonly source?: string | undefined;
  } | undefined;
  /** When its batch was closed. */
  readonly closedAt?: string | undefined;
  /** When its data was packed; absent without new data. */
  readonly sealedAt?: string | undefined;
  /** What it packed. */
  readonly generation?: string | undefined;
  /** SHA-256 of the packed source. */
  readonly source?: string | undefined;
  readonly failure?: string | undefined;
  readonly stop?: {
    readonly mode: "afterSave" | "now";
    readonly at: string;
    /** Who asked. */
    readonly requestedBy: string;
    readonly execution: number;
  } | undefined;
  readonly retry?: {
    /** 1 for the first one. */
    readonly number: number;
    readonly at: string;
    /** Who asked. */
    readonly requestedBy: string;
    /** How many attempts there were before. */
    readonly attempts: number;
  } | undefined;
  readonly modelUri?: string | undefined;
  /** Of its report, once it has ended. */
  readonly result?: {
    readonly finishedAt: string;
    readonly attempts: number;
    readonly interruptions: number;
    /** Seconds. */
    readonly lostSeconds: number;
    /** US dollars. */
    readonly costUsd: number;
    /** US dollars. */
    readonly onDemandUsd: number;
    readonly isDeadlineMet: boolean | null;
  } | undefined;
  /** Who asked for the deletion of its checkpoints, and when. */
  readonly checkpointDeletion?: {
    readonly at: string;
    readonly requestedBy: string;
  } | undefined;
  /** What was deleted after its end. */
  readonly expired?: readonly ("work" | "checkpoints" | "source")[] | undefined;
  readonly deadlineAt?: string | undefined;
};

export type AttemptSummary = {
  readonly attempt: number;
  readonly jobName: string;
  readonly launcher: "sagemaker" | "ec2";
  readonly status: "starting" | "waitingForCapacity" | "running" | "done" | "interrupted" | "recalled" | "failed";
  readonly createdAt: string;
  readonly updatedAt: string;
  /** When its hosts were there. */
  readonly startedAt?: string | undefined;
  readonly placement: {
    readonly pool: Pool;
    readonly topology: Topology;
    readonly decidedAt: string;
    /** On-Demand price of one node in an hour. */
    readonly onDemandHourlyUsd: number;
    /** On-Demand price of all helper nodes together. */
    readonly helpersHourlyUsd?: number | undefined;
  };
  /** The newest checkpoint at its end. */
  readonly progressAfter?: {
    readonly step: number;
    /** 0 where the script does not say. */
    readonly totalSteps: number;
    /** What the step counts; absent: step. */
    readonly unit?: "step" | "epoch" | "saves" | undefined;
    /** Name, below the checkpoints of the run. */
    readonly checkpoint: string;
    /** When it was saved. */
    readonly updatedAt: string;
  } | undefined;
  /** The step at which its script went on. */
  readonly beganAt?: number | undefined;
  readonly recall?: {
    readonly cause: "capacity" | "budget" | "deadline" | "spot" | "time" | "request";
    readonly why: string;
    readonly at: string;
  } | undefined;
  readonly outcome?: {
    readonly kind: "completed" | "interrupted" | "capacity" | "timeLimit" | "serviceError" | "userError" | "recalled" | "stopped";
    readonly message: string;
    readonly startedAt?: string | undefined;
    readonly scriptStartedAt?: string | undefined;
    readonly endedAt?: string | undefined;
    /** Seconds. */
    readonly trainingSeconds: number;
    readonly interruptions: number;
  } | undefined;
  /** Absent while it goes on. */
  readonly costUsd?: number | undefined;
  /** Of the newest attempt alone. */
  readonly diagnosis?: {
    readonly at: string;
    /** Whether the attempt had ended. */
    readonly isFinal?: boolean | undefined;
    readonly speed?: {
      /** Of all hosts together. */
      readonly samplesPerSecond?: number | undefined;
      readonly samplesPerDollar?: number | undefined;
      readonly stepSeconds: {
        /** Seconds. */
        readonly median: number;
        /** Seconds. */
        readonly p95: number;
      };
      /** Share of 1. */
      readonly cpuBusy: number;
      /** Share of 1. */
      readonly gpuBusy?: number | undefined;
      /** Measured time. */
      readonly seconds: number;
      readonly steps: number;
    } | undefined;
    /** What one host reads while it steps. */
    readonly reading?: {
      readonly inputMode: "File" | "FastFile";
      readonly bytesPerStep: number;
      readonly dataBytes: number;
      readonly processBytes: number;
    } | undefined;
    readonly verdicts: readonly ({
      readonly cause: string;
      readonly evidence: Readonly<Record<string, number>>;
      readonly remedy?: {
        readonly change: {
          readonly kind: string;
        };
        readonly where: "declaration" | "script" | "run";
        readonly text: string;
      } | undefined;
      /** Over the whole job. */
      readonly gain: {
        readonly seconds: {
          readonly low: number;
          readonly expected: number;
          readonly high: number;
        };
        readonly dollars: {
          readonly low: number;
          readonly expected: number;
          readonly high: number;
        };
      };
      /** Further remedies of the same cause, the most worthwhile first. */
      readonly others?: readonly ({
        readonly remedy: {
          readonly change: {
            readonly kind: string;
          };
          readonly where: "declaration" | "script" | "run";
          readonly text: string;
        };
        /** Over the whole job. */
        readonly gain: {
          readonly seconds: {
            readonly low: number;
            readonly expected: number;
            readonly high: number;
          };
          readonly dollars: {
            readonly low: number;
            readonly expected: number;
            readonly high: number;
          };
        };
        readonly unknown: readonly (string)[];
      })[] | undefined;
      /** Further remedies, without a forecast. */
      readonly also: readonly (string)[];
      readonly unknown: readonly (string)[];
      /** What limits the steps after the remedy. */
      readonly next?: string | undefined;
    })[];
  } | undefined;
  /** Where its output is in CloudWatch Logs. */
  readonly log?: {
    readonly group: string;
    readonly streamPrefix: string;
  } | undefined;
};

export type TimelineEntry = {
  readonly id: string;
  readonly at: string;
  /** Such as AttemptInterrupted; docs/events.md lists those that are events, too. */
  readonly kind: string;
  readonly text: string;
};

export type Topology = {
  readonly nodes: number;
  readonly acceleratorsPerNode: number;
  readonly helpers?: readonly ({
    readonly name: string;
    readonly instanceType: string;
    readonly nodes: number;
  })[] | undefined;
};

export type Pipeline = {
  readonly name: string;
  /** Number of the batch that takes what arrives now. */
  readonly openBatch: number;
  /** When the last batch was closed. */
  readonly closedAt?: string | undefined;
  readonly seen?: string | undefined;
  /** Present where the folder is too large to be listed for each run. */
  readonly notified?: {
    readonly since: string;
    readonly listedAt: string;
    readonly closedAt?: string | undefined;
  } | undefined;
  readonly sweptAt?: string | undefined;
  readonly sweptObjects?: number | undefined;
  /** Whether a run can use the declaration. */
  readonly valid: boolean;
  readonly declarationEtag?: string | undefined;
  readonly removedAt?: string | undefined;
  readonly problems?: readonly (Problem)[] | undefined;
  readonly updatedAt: string;
};

export type ListPipelinesAnswer = {
  readonly pipelines: readonly (Pipeline)[];
  /** There is another page: make the same call with this token. */
  readonly nextToken?: string | undefined;
};

export type GetPipelineAnswer = {
  readonly name: string;
  /** Number of the batch that takes what arrives now. */
  readonly openBatch?: number | undefined;
  /** When the last batch was closed. */
  readonly closedAt?: string | undefined;
  readonly seen?: string | undefined;
  /** Present where the folder is too large to be listed for each run. */
  readonly notified?: {
    readonly since: string;
    readonly listedAt: string;
    readonly closedAt?: string | undefined;
  } | undefined;
  readonly sweptAt?: string | undefined;
  readonly sweptObjects?: number | undefined;
  /** Whether a run can use the declaration. */
  readonly valid?: boolean | undefined;
  readonly declarationEtag?: string | undefined;
  readonly removedAt?: string | undefined;
  readonly problems?: readonly (Problem)[] | undefined;
  readonly updatedAt?: string | undefined;
  /** YAML, as it was written. */
  readonly declaration: string;
};

export type PutPipelineAnswer = {
  readonly name: string;
  readonly kind: "valid" | "gone";
  /** The run that data which was there before started. */
  readonly woken?: {
    readonly kind: "started" | "running";
    readonly runId: string;
  } | {
    readonly kind: "ignored";
    readonly reason: string;
  } | undefined;
};

export type DeletePipelineAnswer = {
  readonly name: string;
  readonly kind: "valid" | "invalid" | "gone";
  /** The run that data which was there before started. */
  readonly woken?: {
    readonly kind: "started" | "running";
    readonly runId: string;
  } | {
    readonly kind: "ignored";
    readonly reason: string;
  } | undefined;
  readonly problems?: readonly (Problem)[] | undefined;
};

export type ListPipelineRunsAnswer = {
  readonly runs: readonly (RunSummary)[];
  /** There is another page: make the same call with this token. */
  readonly nextToken?: string | undefined;
};

export type StartRunAnswer = {
  readonly kind: "started" | "running";
  readonly runId: string;
  /** Fields that hold for this run alone. */
  readonly changed: readonly (string)[];
  /** The run that it does again. */
  readonly again?: string | undefined;
};

export type ListProbesAnswer = {
  readonly probes: readonly ({
    readonly runId: string;
    readonly number: number;
    readonly status: RunStatus;
    readonly failure?: string | undefined;
    readonly createdAt: string;
    /** What it trains by. */
    readonly declaration?: RunDeclaration | undefined;
    /** Of the last attempt, such as 2 x g5.xlarge. */
    readonly topology?: string | undefined;
    /** Of all its hosts. */
    readonly usdPerHour?: number | undefined;
    /** US dollars. */
    readonly costUsd: number;
    /** Absent until it has ended, and where too few steps were made. */
    readonly speed?: {
      readonly basis: "hooks" | "printed";
      /** host: hosts that share one machine, each by the CPU time that it got. */
      readonly clock: "machine" | "host";
      readonly hosts: number;
      /** The first fifth is not measured. */
      readonly steps: number;
      /** With a 95 % interval. */
      readonly stepSeconds: {
        readonly mean: number;
        readonly low: number;
        readonly high: number;
      };
      readonly samplesPerSecond?: {
        readonly mean: number;
        readonly low: number;
        readonly high: number;
      } | undefined;
    } | undefined;
  })[];
  /** There is another page: make the same call with this token. */
  readonly nextToken?: string | undefined;
};

export type StartProbeAnswer = {
  readonly runId: string;
  readonly number: number;
  readonly kind: "started" | "running";
  /** The version of the dataset that it trains on, by its last generation. */
  readonly pin?: string | undefined;
};

export type GetRunAnswer = {
  /** Give it as `since` to learn what changes from here on. It is a few seconds ago. */
  readonly asOf: string;
  readonly run: Run;
  readonly attempts: readonly (AttemptSummary)[];
  /** The newest 100 entries, oldest first. */
  readonly timeline: readonly (TimelineEntry)[];
  /** How many entries there are. */
  readonly timelineCount: number;
  /** The newest checkpoint that is whole. */
  readonly progress?: Progress | undefined;
  readonly money: {
    readonly asOf: string;
    /** So far. */
    readonly usd: number;
    /** By how much it grows while hosts are held. */
    readonly usdPerSecond: number;
    readonly byPurchaseOption: readonly ({
      readonly purchaseOption: "spot" | "on-demand";
      /** Seconds. */
      readonly seconds: number;
      /** US dollars. */
      readonly usd: number;
    })[];
    /** Work that was not saved, or was done again. */
    readonly lost: {
      /** Seconds. */
      readonly seconds: number;
      /** US dollars. */
      readonly usd: number;
    };
    /** What the useful work so far would have cost on On-Demand instances. */
    readonly onDemandUsd: number;
    /** Absent for an ended run, and while nothing says how much is left. */
    readonly expected?: {
      /** Of the whole run; 90 % interval. */
      readonly usd: {
        readonly low: number;
        readonly expected: number;
        readonly high: number;
      };
      /** 90 % interval. */
      readonly finishAt: {
        readonly low: string;
        readonly expected: string;
        readonly high: string;
      };
      /** US dollars. */
      readonly onDemandUsd: number;
      /** declared: from former runs. */
      readonly basis: "measured" | "declared";
    } | undefined;
    readonly deadlineAt?: string | undefined;
    /** US dollars. */
    readonly budgetUsd?: number | undefined;
  };
  /** What an ended run came to; the whole report has a route of its own. */
  readonly report?: {
    readonly version: 1;
    readonly runId: string;
    readonly pipeline: string;
    readonly status: "succeeded" | "failed" | "stopped" | "empty";
    readonly failure?: string | undefined;
    readonly stop?: {
      readonly mode: "afterSave" | "now";
      readonly at: string;
      /** Who asked. */
      readonly requestedBy: string;
      readonly execution: number;
    } | undefined;
    readonly retry?: {
      /** 1 for the first one. */
      readonly number: number;
      readonly at: string;
      /** Who asked. */
      readonly requestedBy: string;
      /** How many attempts there were before. */
      readonly attempts: number;
    } | undefined;
    readonly modelUri?: string | undefined;
    readonly source?: string | undefined;
    readonly metrics: Readonly<Record<string, number>>;
    readonly interruptions: number;
    /** Seconds. */
    readonly lostSeconds: number;
    /** US dollars. */
    readonly costUsd: number;
    /** Part of it: the file systems that channels read. */
    readonly fileSystemsUsd?: number | undefined;
    /** Cost of the same useful work on On-Demand instances of the same type. */
    readonly onDemandUsd: number;
    /** The cheapest single On-Demand node that could have done that work. */
    readonly onDemandNode?: {
      readonly instanceType: string;
      readonly accelerators: number;
      readonly hours: number;
      /** US dollars. */
      readonly usd: number;
    } | undefined;
    /** US dollars. */
    readonly savedUsd: number;
    readonly savedPercent: number;
    readonly deadline: {
      readonly at?: string | undefined;
      readonly met: boolean | null;
    };
    readonly startedAt: string;
    readonly finishedAt: string;
    readonly attempts: readonly ({
      readonly attempt: number;
      readonly outcome: "completed" | "interrupted" | "capacity" | "timeLimit" | "serviceError" | "userError" | "recalled" | "stopped";
      /** Training that no checkpoint covers, or that was done again. */
      readonly lostSeconds: number;
      /** US dollars. */
      readonly costUsd: number;
    })[];
  } | undefined;
};

export type ListAttemptsAnswer = {
  readonly attempts: readonly (Attempt)[];
};

export type GetTimelineAnswer = {
  readonly timeline: readonly (TimelineEntry)[];
};

export type ListPlacementsAnswer = {
  readonly placements: readonly ({
    readonly attempt: number;
    readonly kind: "launch" | "wait" | "giveUp";
    readonly reason: string;
    readonly placement?: Placement | undefined;
  })[];
};

export type GetPlacementAnswer = {
  readonly attempt: number;
  readonly decision: PlacementDecision;
};

export type GetSeriesAnswer = {
  readonly series: readonly ({
    readonly name: string;
    /** How the script gave it, such as log or tensorboard. */
    readonly source: string;
    readonly unit: "step" | "epoch";
    /** Before they were thinned. */
    readonly pointCount: number;
    readonly points: readonly ({
      /** In the unit of its series. */
      readonly position: number;
      readonly value: number | null;
      readonly at: string;
      readonly attempt: number;
    })[];
    /** What an attempt did past its last checkpoint, before it was lost. */
    readonly lost: readonly ({
      /** In the unit of its series. */
      readonly position: number;
      readonly value: number | null;
      readonly at: string;
      readonly attempt: number;
    })[];
  })[];
};

export type GetUtilisationAnswer = {
  /** In order of time. Empty where no host measured, or checkpoints are deleted. */
  readonly points: readonly ({
    /** The end of the time that it stands for. */
    readonly at: string;
    readonly attempt: number;
    /** How many measured. */
    readonly hosts: number;
    /** Share of 1, the mean over the hosts. */
    readonly cpuBusy: number;
    /** Absent without an accelerator. */
    readonly gpuBusy?: number | undefined;
    /** Of the wall time, how long the processes waited for their next batch. */
    readonly waiting: number;
  })[];
  /** Hosts of all attempts that were too many to read. */
  readonly hostsLeftOut: number;
  /** The doctor's, of every attempt. */
  readonly verdicts: readonly ({
    readonly attempt: number;
    readonly at: string;
    readonly cause: string;
    /** What to change. */
    readonly remedy?: string | undefined;
  })[];
};

export type GetLogAnswer = {
  readonly entries: readonly ({
    readonly kind: "began" | "ended";
    readonly attempt: number;
    readonly at: string;
    readonly text: string;
  } | {
    readonly kind: "line";
    readonly attempt: number;
    readonly at: string;
    readonly host: string;
    /** As it was printed: it may hold control characters. */
    readonly text: string;
  })[];
  /** Make the same call with it for what follows; absent at the end of an ended run. */
  readonly nextToken?: string | undefined;
  /** Nothing more is there now. To follow, wait a few seconds and go on from nextToken. */
  readonly isCurrent: boolean;
};

export type StopRunAnswer = {
  readonly runId: string;
  readonly status: RunStatus;
  readonly stop: {
    readonly mode: "afterSave" | "now";
    readonly at: string;
    /** Who asked. */
    readonly requestedBy: string;
    readonly execution: number;
  };
  /** What a script that saves nothing now loses. */
  readonly unsaved?: {
    /** Seconds. */
    readonly seconds: number;
    /** US dollars. */
    readonly usd: number;
    /** Of the newest checkpoint. */
    readonly step?: number | undefined;
  } | undefined;
};

export type RetryRunAnswer = {
  readonly runId: string;
  readonly status: RunStatus;
  readonly retry?: {
    /** 1 for the first one. */
    readonly number: number;
    readonly at: string;
    /** Who asked. */
    readonly requestedBy: string;
    /** How many attempts there were before. */
    readonly attempts: number;
  } | undefined;
  /** From which it goes on; absent: from the start. */
  readonly checkpoint?: {
    readonly name: string;
    readonly step: number;
  } | undefined;
};

export type PutLimitsAnswer = {
  readonly runId: string;
  readonly status: RunStatus;
  readonly limits: {
    /** From the close of the batch to the model; 24 unless patience or a value of time is given. */
    readonly deadlineHours?: number | undefined;
    /** Without a deadline: how long a run may stand still for cheap capacity, all its waits together. */
    readonly patienceHours?: number | undefined;
    /** What an hour sooner is worth. It is weighed against what capacity costs. */
    readonly valueOfTimeUsdPerHour?: number | undefined;
    /** Longest training time of one attempt. */
    readonly maximumRunSeconds: number;
    /** No attempt starts that may pass this sum for the run. */
    readonly budgetUsd?: number | undefined;
    readonly attempts: number;
    /** Ends the training of an attempt as finished after so many steps: for trials. It leaves no model. */
    readonly steps?: number | undefined;
  };
  /** What the last placement would have been with these limits; the run itself goes on where it is. */
  readonly placement?: PlacementDecision | undefined;
};

export type GetWhatIfAnswer = {
  /** The time as of which it is decided again. */
  readonly decidedAt: string;
  /** Without any change. */
  readonly again: PlacementDecision;
  /** Whether `again` comes to the pool and the gang that were chosen. */
  readonly isSame: boolean;
  /** With the change. */
  readonly changed: PlacementDecision;
  /** What is not known of that time. */
  readonly notes: readonly (string)[];
};

export type GetDatasetAnswer = {
  /** The generation that the declaration pins. */
  readonly pinned?: string | undefined;
  /** Number of the newest version; absent while nothing is sealed. */
  readonly newest?: number | undefined;
  /** Newest first, at most 100. */
  readonly versions: readonly ({
    readonly number: number;
    readonly kind: "sealed" | "compacted" | "pruned" | "restored";
    /** The generations that the change is about. */
    readonly changed: readonly (string)[];
    /** What the version is made of, oldest first. */
    readonly generations: readonly (string)[];
  })[];
  /** Newest first. */
  readonly generations: readonly ({
    readonly name: string;
    /** damaged: its manifest cannot be read. */
    readonly state: "sealed" | "replaced" | "pruned" | "rejectionsOnly" | "damaged";
    /** Why it is damaged. */
    readonly problem?: string | undefined;
    readonly listedAt?: string | undefined;
    readonly format?: string | undefined;
    readonly shards?: number | undefined;
    readonly samples?: number | undefined;
    /** Copies among the samples, which even out counts or classes. */
    readonly repeated?: number | undefined;
    readonly bytes?: number | undefined;
    /** Arrivals that its shards hold. */
    readonly packed?: number | undefined;
    readonly rejected?: number | undefined;
  })[];
};

export type GetGenerationAnswer = {
  readonly generation: {
    readonly name: string;
    /** damaged: its manifest cannot be read. */
    readonly state: "sealed" | "replaced" | "pruned" | "rejectionsOnly" | "damaged";
    /** Why it is damaged. */
    readonly problem?: string | undefined;
    readonly listedAt?: string | undefined;
    readonly format?: string | undefined;
    readonly shards?: number | undefined;
    readonly samples?: number | undefined;
    /** Copies among the samples, which even out counts or classes. */
    readonly repeated?: number | undefined;
    readonly bytes?: number | undefined;
    /** Arrivals that its shards hold. */
    readonly packed?: number | undefined;
    readonly rejected?: number | undefined;
  };
  /** Empty where the declaration balances no classes. */
  readonly classes: readonly ({
    readonly label: string;
    /** Samples that came. */
    readonly arrived: number;
    /** Samples in the shards, copies counted. */
    readonly sealed: number;
  })[];
  readonly rejectedByReason: Readonly<Record<string, number>>;
  /** At most 100 examples. */
  readonly rejected: readonly ({
    readonly key: string;
    readonly reason: string;
  })[];
  /** The first members of the first shard. */
  readonly samples: readonly ({
    readonly shard: string;
    readonly member: string;
    /** The object that it was packed from. */
    readonly key?: string | undefined;
    readonly bytes: number;
    readonly label?: string | undefined;
  })[];
};

export type GetImageAnswer = {
  readonly type: "image/png" | "image/jpeg" | "image/gif" | "image/webp";
  readonly base64: string;
};

export type PutPinAnswer = {
  readonly name: string;
  readonly pinned?: string | undefined;
  /** What runs that close from now on train on; without a pin, beside what they pack themselves. */
  readonly generations: readonly (string)[];
};

export type CompareRunsAnswer = {
  readonly rows: readonly ({
    readonly runId: string;
    readonly status: RunStatus;
    readonly strategy?: string | undefined;
    /** Of the longest measured one, such as 2 x g5.xlarge. */
    readonly topology?: string | undefined;
    readonly samplesPerSecond?: number | undefined;
    /** US dollars. */
    readonly usdPerMillionSamples?: number | undefined;
    readonly stepSeconds?: {
      readonly median: number;
      readonly p95: number;
    } | undefined;
    /** Share of 1. */
    readonly cpuBusy?: number | undefined;
    /** Share of 1. */
    readonly gpuBusy?: number | undefined;
    /** US dollars. */
    readonly costUsd: number;
    /** Paid when the run first reached the value of the metric. */
    readonly costToMetricUsd?: number | undefined;
  })[];
  /** What every run that logged it has reached; absent without such a metric. */
  readonly metric?: {
    readonly name: string;
    readonly value: number;
  } | undefined;
};

export type GetMarketAnswer = {
  readonly since: string;
  readonly pools: readonly ({
    readonly instanceType: string;
    readonly zoneId: string;
    readonly score?: number | undefined;
    /** US dollars. */
    readonly spotUsd?: number | undefined;
    /** US dollars. */
    readonly onDemandUsd?: number | undefined;
    /** When AWS was last read. */
    readonly readAt?: string | undefined;
    /** At most 60, oldest first. */
    readonly history: readonly ({
      readonly at: string;
      /** Spot placement score, 1 to 10: the best of all questions that name this type. */
      readonly score?: number | undefined;
      /** Price of one instance in an hour. */
      readonly spotUsd?: number | undefined;
    })[];
    /** Spot attempts of this account that ended: kept, interrupted, or without capacity. */
    readonly luck: {
      readonly kept: number;
      readonly lost: number;
      readonly refused: number;
    };
  })[];
  /** Attempts that hold capacity, or wait for it. */
  readonly running: readonly ({
    readonly runId: string;
    readonly attempt: number;
    readonly instanceType: string;
    readonly zoneId?: string | undefined;
    readonly purchaseOption: "spot" | "on-demand";
    readonly nodes: number;
    readonly since: string;
  })[];
};

export type GetMoneyAnswer = {
  readonly month: string;
  readonly from: string;
  readonly to: string;
  readonly total: {
    readonly runs: number;
    /** US dollars. */
    readonly costUsd: number;
    /** What the same useful work costs on On-Demand, without interruptions. */
    readonly onDemandUsd: number;
    /** Training that no checkpoint covered. */
    readonly lostSeconds: number;
    /** The share of the cost that lost work has. */
    readonly lostUsd: number;
  };
  readonly byPipeline: readonly ({
    readonly pipeline: string;
    readonly runs: number;
    /** US dollars. */
    readonly costUsd: number;
    /** What the same useful work costs on On-Demand, without interruptions. */
    readonly onDemandUsd: number;
    /** Training that no checkpoint covered. */
    readonly lostSeconds: number;
    /** The share of the cost that lost work has. */
    readonly lostUsd: number;
  })[];
  readonly byDay: readonly ({
    readonly day: string;
    /** US dollars. */
    readonly costUsd: number;
  })[];
  readonly byPool: readonly ({
    readonly instanceType: string;
    readonly zoneId?: string | undefined;
    readonly purchaseOption: "spot" | "on-demand";
    readonly attempts: number;
    /** US dollars. */
    readonly costUsd: number;
    /** Seconds. */
    readonly lostSeconds: number;
  })[];
  /** false: there are more runs than were read; the sums are of the newest. */
  readonly isComplete: boolean;
};

export type DeleteCheckpointsAnswer = {
  readonly runId: string;
  readonly status: RunStatus;
  readonly deletion?: {
    readonly at: string;
    /** Who asked. */
    readonly requestedBy: string;
  } | undefined;
  /** Whether nothing is left; else they are deleted within a day. */
  readonly isDeleted: boolean;
};

export type PlanRunAnswer = {
  readonly pipeline: string;
  readonly asOf: string;
  /** The run that would take the data. */
  readonly runId: string;
  /** Of the new data. */
  readonly packing: {
    readonly basis: "counted" | "given";
    readonly files: number;
    readonly bytes: number;
    readonly samples: number;
    /** By names and sizes alone. */
    readonly rejected: number;
    readonly shards: number;
    /** Invocations that pack them. */
    readonly items: number;
  };
  /** All that the run would train on. */
  readonly dataset: {
    readonly generations: number;
    readonly shards: number;
    readonly bytes: number;
  };
  /** Absent where there is nothing to train on. */
  readonly decision?: PlacementDecision | undefined;
  /** Absent where nothing would be launched now. */
  readonly training?: {
    /** declared: as former runs took; assumed: nothing is known. */
    readonly basis: "measured" | "declared" | "assumed";
    /** Training alone, on the chosen topology. */
    readonly workSeconds: number;
    /** From the decision to the end; 90 % interval. */
    readonly seconds: {
      readonly low: number;
      readonly expected: number;
      readonly high: number;
    };
    /** US dollars; 90 % interval. */
    readonly usd: {
      readonly low: number;
      readonly expected: number;
      readonly high: number;
    };
    /** The same work at the On-Demand price, without an interruption. */
    readonly onDemandUsd: number;
    /** 90 % interval. */
    readonly finishAt: {
      readonly low: string;
      readonly expected: string;
      readonly high: string;
    };
  } | undefined;
  readonly deadlineAt?: string | undefined;
  /** Quotas, roles, networks, images and secrets of the account. */
  readonly findings: readonly ({
    readonly kind: "passed";
    readonly check: string;
    readonly field: string;
    readonly value: string;
  } | {
    readonly kind: "limited";
    readonly check: string;
    readonly field: string;
    readonly value: string;
    readonly message: string;
    readonly remedy: string;
  } | {
    readonly kind: "fails";
    readonly check: string;
    readonly field: string;
    readonly value: string;
    readonly message: string;
    readonly remedy: string;
  } | {
    readonly kind: "notSeen";
    readonly check: string;
    readonly field: string;
    readonly message: string;
    readonly remedy: string;
  })[];
  /** What is not known. */
  readonly notes: readonly (string)[];
};

export type GetOpenApiAnswer = Readonly<Record<string, unknown>>;

export type Declaration = {
  readonly name: string;
  readonly settle?: {
    /** A batch is complete when nothing changed under incoming/ for this long. */
    readonly quietSeconds?: number | undefined;
    /** A batch is closed after this long even if objects keep arriving. */
    readonly maximumWaitSeconds?: number | undefined;
    /** An object with this name under incoming/ closes the batch at once, e.g. _SUCCESS. */
    readonly marker?: string | undefined;
  } | undefined;
  readonly packing?: {
    /** The shard format; docs/datasets.md compares them. */
    readonly format?: "webdataset" | "tfrecord" | "recordio" | "mds" | "parquet" | "lines" | "records" | undefined;
    /** Target size of a shard in 10^6 bytes. */
    readonly shardMegabytes?: number | undefined;
    /** Seed of the shuffle. */
    readonly seed?: number | undefined;
    /** Suffixes taken; anything else is rejected, with its reason in the manifest. Default: everything. */
    readonly accept?: readonly (string)[] | undefined;
    /** Names of further files to ignore; * stands for any characters, and a slash at the end makes a folder. Files that systems and tools leave (.DS_Store, Thumbs.db, __MACOSX/, _SUCCESS, *.tmp and others) are ignored without it; none: they are packed too. */
    readonly ignore?: "none" | readonly (string)[] | undefined;
    /** Where a sample gets its label: from the folder that holds it, from its key by labelPattern, or from the file of annotations. It becomes the member <key>.cls. */
    readonly label?: "parentFolder" | "namePattern" | "annotations" | "none" | undefined;
    /** For namePattern: the first group of this regular expression, found in the key under incoming/, is the label. */
    readonly labelPattern?: string | undefined;
    /** For annotations: the file that says which sample has which label. */
    readonly annotations?: {
      /** Key under incoming/ of a CSV file with a header line, or of JSON Lines. */
      readonly file: string;
      /** Column or field that names a sample: the key of one of its members under incoming/, or the key without suffix. */
      readonly key?: string | undefined;
      /** Column or field with the label: a text or a number. */
      readonly label?: string | undefined;
    } | undefined;
    /** integer: tfrecord, mds and parquet hold the label as an int64, and other labels are rejected. */
    readonly labelType?: "text" | "integer" | undefined;
    /** Shuffle all samples of a generation by the seed; false keeps the order of keys. */
    readonly shuffle?: boolean | undefined;
    /** Make the number of shards a multiple of this, so that hosts and workers share them evenly. Default: the processes that train, as far as shards stay above 1 MB. */
    readonly shardsMultipleOf?: number | undefined;
    /** At least so many shards for each of the shardsMultipleOf workers, however small they get. Default: 4 for each process that trains, as far as shards stay above 1 MB. */
    readonly leastShardsPerWorker?: number | undefined;
    /** Splits the samples for good, each part in shards and a channel of its own. */
    readonly split?: {
      /** Share of the samples, or of the groups, for the channel train; all shares give 1. */
      readonly train: number;
      /** Share of the samples, or of the groups, for the channel validation; all shares give 1. */
      readonly validation?: number | undefined;
      /** Share of the samples, or of the groups, for the channel test; all shares give 1. */
      readonly test?: number | undefined;
      /** What a hash decides the split of: each sample by its key without suffix, or the group that groupPattern finds in it. */
      readonly by?: "key" | "group" | undefined;
      /** For by: group: the first group of this regular expression, found in the key under incoming/ without suffix. All samples with the same text are in one split. */
      readonly groupPattern?: string | undefined;
    } | undefined;
    /** Columns that each sample must have; others wait for the rest. learn: those of nearly all samples of the first generation. Default: only a text or label beside nothing waits, where most samples have data. */
    readonly require?: "learn" | readonly (string)[] | undefined;
    /** So long an incomplete sample waits for the rest of its members. Then it is rejected, and joined if the rest comes later. */
    readonly waitHours?: number | undefined;
    /** Samples to reject as a whole, by the reason: notText for a text that is no UTF-8, notJson for a .json or a line of JSON Lines that is no JSON. conflictingLabels (the same bytes have another label) and singleSampleClasses (the class has one sample) leave them under incoming/ while the reason lasts. Default: they are packed and counted in the quality report. */
    readonly reject?: readonly ("notText" | "notJson" | "conflictingLabels" | "singleSampleClasses")[] | undefined;
    /** So many of the new objects, and always ten, may be unreadable and are left for a later run. If more are, the run fails, because its role is at fault. */
    readonly mayReject?: string | undefined;
    /** Shards of unequal sample counts: leave them, repeat samples to fill them, or leave samples for later. */
    readonly remainder?: "ragged" | "even" | "drop" | undefined;
    /** Give every class the same number of samples: over copies samples of small classes, under leaves out samples of large ones. */
    readonly balance?: "over" | "under" | undefined;
    /** Only for the format lines. */
    readonly lines?: {
      readonly kind?: "text" | "jsonl" | "csv" | "libsvm" | undefined;
      /** CSV sources with a header line: keep it once in each shard, or leave it out. */
      readonly header?: "none" | "perShard" | "drop" | undefined;
    } | undefined;
    /** Only for the format records: what the arrivals are. */
    readonly records?: {
      readonly kind?: "tfrecord" | "recordio" | undefined;
    } | undefined;
    /** Only for the format tfrecord. */
    readonly tfrecord?: {
      /** gzip: each shard is one gzip file, read with compression_type='GZIP'. */
      readonly compression?: "none" | "gzip" | undefined;
    } | undefined;
    /** Images are decoded, turned upright, resized and encoded again before they are packed. */
    readonly prepare?: {
      readonly image: {
        /** Longest side in pixels; the ratio stays, and smaller images are not enlarged. */
        readonly maxSide?: number | undefined;
        /** Width in pixels; without height the ratio stays. */
        readonly width?: number | undefined;
        /** Height in pixels; without width the ratio stays. */
        readonly height?: number | undefined;
        /** With width and height: cover (default) crops, contain pads with background, fill distorts, inside and outside keep the ratio. */
        readonly fit?: "cover" | "contain" | "fill" | "inside" | "outside" | undefined;
        /** How prepared images are encoded; their names get its suffix. */
        readonly format?: "jpeg" | "png" | "webp" | undefined;
        /** Of jpeg and webp; default 90. */
        readonly quality?: number | undefined;
        /** Behind what is transparent, where the format has no transparency, and around it with contain. */
        readonly background?: string | undefined;
        /** Members that are prepared; anything else stays as it is. */
        readonly columns?: readonly (string)[] | undefined;
        /** Members that hold a class for each pixel, as PNG: resized like the images, but to the nearest pixel, and kept as PNG. */
        readonly masks?: readonly (string)[] | undefined;
        /** Larger images are rejected before they are decoded. */
        readonly mostMegapixels?: number | undefined;
        /** Size of a prepared image in 10^3 bytes, by which shards are planned; default: by its pixels. */
        readonly expectedKilobytes?: number | undefined;
      };
    } | undefined;
    /** Limits of the quality report. A run that passes one does not train until a person releases its data. */
    readonly hold?: {
      /** Most percentage points by which the share of any class may differ from the version before. */
      readonly classShare?: string | undefined;
      /** Most of the arrivals of a run that may be rejected. */
      readonly rejected?: string | undefined;
      /** Most of the samples of a run that may have the bytes of another one with a different label. */
      readonly conflictingLabels?: string | undefined;
      /** Most of the classes that may have a single sample. */
      readonly singleSampleClasses?: string | undefined;
      /** With packing.split: most of the samples of validation or test whose bytes another split may hold. */
      readonly leakage?: string | undefined;
    } | undefined;
    /** What becomes of the packed arrivals after the run. */
    readonly whenDone?: "keep" | "delete" | undefined;
  } | undefined;
  /** A version of the dataset is named by its last generation. */
  readonly dataset?: {
    /** Train on the version that ends with this generation, whatever is packed later. */
    readonly pin?: string | undefined;
    /** Join small generations into a large one when there are so many; a generation is small when its shards are on average less than half as large as shardMegabytes. */
    readonly compactAfter?: "never" | number | undefined;
    /** replace: a sample whose object was overwritten is trained on in its newest version only. keep: every version stays a sample of its own. */
    readonly onChange?: "replace" | "keep" | undefined;
    /** retract: a sample leaves the next version when one of its objects is deleted from incoming/, and what is left of it is packed as if it had just arrived. keep: it stays. */
    readonly onDelete?: "keep" | "retract" | undefined;
  } | undefined;
  readonly training: {
    /** How processes cooperate in training; docs/strategies.md says which needs what. */
    readonly strategy: "single" | "ddp" | "ray" | "mpi" | "parameter-server" | "multi-worker-mirrored" | "data-service";
    /** Prefix of the training code: s3://bucket/prefix/ or a prefix under the pipeline's own folder. */
    readonly source?: string | undefined;
    readonly entryPoint?: string | undefined;
    /** A command instead of a Python script, such as [bash, run.sh] or [python, -m, package.module]. */
    readonly command?: readonly (string | number | boolean)[] | undefined;
    /** The command line as typed, instead of the hyperparameters. Placeholders: ${checkpoints}, ${model}, ${output}, ${source}, ${channel:NAME}, ${hyperparameters}; $$ is a dollar sign. An argument that ends with ? is left out where its path is missing, and so is a list of arguments that holds one. With a *, as in ${checkpoints}/epoch_*.pt?, it is the newest whole checkpoint of such a name. */
    readonly arguments?: readonly (string | number | boolean | readonly (string | number | boolean)[])[] | undefined;
    /** Environment variables of the script; values may have the placeholders of arguments. Not for secrets. */
    readonly environment?: Readonly<Record<string, string | number | boolean>> | undefined;
    /** The folder of the source in which the script runs; by default the source itself. ${checkpoints}: for a script that saves where it runs. */
    readonly workingDirectory?: string | undefined;
    /** What counts as a checkpoint, instead of the agent's own rules. automatic: the agent saves and restores a PyTorch script that does neither; strategies single and ddp. */
    readonly checkpoint?: "automatic" | {
      /** Where the script writes them: ${checkpoints} (default), a folder below it, or one below the folder in which it runs. */
      readonly folder?: string | undefined;
      /** What is one checkpoint: a file or a folder, such as epoch_*.pt or checkpoint-*. */
      readonly pattern?: string | undefined;
      /** name (default): the last number in the path; time: the newest file; or an expression with one group. */
      readonly step?: string | undefined;
      /** How many are kept; the agent deletes older ones. All by default. */
      readonly keep?: number | undefined;
    } | undefined;
    readonly progress?: {
      /** Read from each line that the script prints, in Python's syntax: (?P<step>…), (?P<total>…) and any metric. */
      readonly pattern: string;
    } | undefined;
    /** false: no hooks measure where the time of a step goes, so the doctor knows no steps. */
    readonly instrument?: boolean | undefined;
    /** Processes of a host with ddp or mpi; by default one for each of its accelerators. */
    readonly processesPerHost?: number | undefined;
    /** mpi: each process sees one GPU alone, that of its local rank (CUDA_VISIBLE_DEVICES). */
    readonly pinGpus?: boolean | undefined;
    readonly framework?: "pytorch" | "tensorflow" | undefined;
    readonly frameworkVersion?: string | undefined;
    /** A training image of your own. */
    readonly image?: string | undefined;
    readonly hyperparameters?: Readonly<Record<string, string | number | boolean | {
      readonly number: string;
    }>> | undefined;
    /** required (the default): a script that ends well and leaves no model has failed. */
    readonly model?: "required" | "none" | undefined;
    /** How shards reach the script: auto (the default) downloads what fits and is quick, else streams. */
    readonly inputMode?: "auto" | "File" | "FastFile" | "Pipe" | undefined;
    /** Further data by channel name: the script finds each under SM_CHANNEL_<NAME>. */
    readonly channels?: Readonly<Record<string, {
      /** A prefix under the pipeline's own folder, or s3://bucket/prefix/ among sharedPrefixes of the deployment. */
      readonly s3: string;
      /** Downloaded first, or streamed when read. */
      readonly inputMode?: "File" | "FastFile" | undefined;
    } | {
      /** An FSx for Lustre file system in the zone of a declared subnet. */
      readonly fsxLustre: string;
      /** Begins with the file system's mount name, such as /1234abcd/images. */
      readonly directory: string;
      /** Whether the script may write there. Default: ro. */
      readonly access?: "ro" | "rw" | undefined;
      /** Its storage capacity: from it come its price in plans, placements and reports. */
      readonly storageGigabytes?: number | undefined;
      /** Its price, where it is not that of SCRATCH_2 or EFS Standard in us-east-1. */
      readonly usdPerGigabyteMonth?: number | undefined;
    } | {
      /** An EFS file system with a mount target in each declared subnet. */
      readonly efs: string;
      readonly directory?: string | undefined;
      /** Whether the script may write there. Default: ro. */
      readonly access?: "ro" | "rw" | undefined;
      /** What it holds: from it come its price in plans, placements and reports. */
      readonly storageGigabytes?: number | undefined;
      /** Its price, where it is not that of SCRATCH_2 or EFS Standard in us-east-1. */
      readonly usdPerGigabyteMonth?: number | undefined;
    }>> | undefined;
    /** A private package index for requirements.txt. */
    readonly packageIndex?: {
      /** A simple index as pip reads it, such as https://packages.example.com/simple/. */
      readonly url: string;
      /** Its credentials: {"username": …, "password": …}, or a token alone. */
      readonly secret?: string | undefined;
    } | undefined;
    /** Whether every host gets all shards or its share of them. */
    readonly distribution?: "FullyReplicated" | "ShardedByS3Key" | undefined;
  };
  readonly compute: {
    /** Interchangeable types; three or more score best. With needs: only these of those that meet them. */
    readonly instanceTypes?: readonly (string)[] | undefined;
    readonly nodes?: number | undefined;
    /** What the training needs, instead of types and nodes: every topology that has it is weighed. */
    readonly needs?: {
      /** How many train together, over all nodes: the world size. 0 trains on CPUs. */
      readonly accelerators: number;
      /** Which accelerators will do; default: every NVIDIA one. */
      readonly kinds?: readonly ("T4" | "V100" | "A10G" | "L4" | "L40S" | "A100" | "H100" | "H200" | "Trainium")[] | undefined;
      /** Least memory of each. */
      readonly acceleratorMemoryGigabytes?: number | undefined;
      /** At least so many in one node, for strategies that need a fast link between them. */
      readonly acceleratorsPerNode?: number | undefined;
      /** Least host memory of a node. */
      readonly memoryGigabytes?: number | undefined;
      /** Least vCPUs of a node. */
      readonly vcpus?: number | undefined;
      readonly maximumNodes?: number | undefined;
      /** The model is small: nodes without accelerators may train it as well. */
      readonly cpuInstead?: boolean | undefined;
      /** A checkpoint of one number of nodes and processes may be resumed by another; docs/training.md says which recipes can. */
      readonly resumeOnOtherTopology?: boolean | undefined;
    } | undefined;
    /** Where it may train. Default: only in the data bucket's own region. */
    readonly regions?: readonly ({
      readonly name: string;
      /** As compute.vpc, which is the one of the data bucket's region. */
      readonly vpc?: {
        readonly securityGroupIds: readonly (string)[];
        readonly subnets: readonly ({
          readonly id: string;
          readonly zoneId: string;
        })[];
      } | undefined;
    })[] | undefined;
    /** Groups of CPU nodes beside the nodes that train, for strategies that preprocess there. */
    readonly helpers?: readonly ({
      readonly name: string;
      readonly instanceType: string;
      readonly nodes: number;
    })[] | undefined;
    /** Such a group may be added when an attempt has measured that its hosts, not its accelerators, set the pace (strategy ray). */
    readonly mayAddHelpers?: {
      readonly name?: string | undefined;
      /** Default: the c5 family. */
      readonly instanceTypes?: readonly (string)[] | undefined;
      readonly maximumNodes?: number | undefined;
    } | undefined;
    /** Try managed Spot with helper groups. AWS does not say whether it takes both together. */
    readonly spotWithHelpers?: boolean | undefined;
    /** spot-then-on-demand changes to On-Demand when the deadline needs it. */
    readonly purchaseOption?: "spot" | "on-demand" | "spot-then-on-demand" | undefined;
    /** Where the job runs: sagemaker (the default), ec2 for instances of your own account, or cheapest: placement weighs both, each time. */
    readonly launcher?: "sagemaker" | "ec2" | "cheapest" | undefined;
    readonly ec2?: {
      /** A machine image with the AWS CLI and the framework, e.g. AWS's Deep Learning AMI. */
      readonly image: string;
      /** The Python that has the framework, e.g. /opt/pytorch/bin/python3. */
      readonly python?: string | undefined;
      /** The image's root device: /dev/xvda on Amazon Linux, /dev/sda1 on Ubuntu. */
      readonly rootDevice?: string | undefined;
      /** Whether the subnets reach S3 without a public address, by a NAT gateway or endpoints. Gangs of types with several network cards have no public address. */
      readonly privateSubnets?: boolean | undefined;
    } | undefined;
    readonly volumeGigabytes?: number | undefined;
    /** With a VPC a zone can be chosen: each attempt gets the one subnet of its zone. */
    readonly vpc?: {
      readonly securityGroupIds: readonly (string)[];
      readonly subnets: readonly ({
        readonly id: string;
        readonly zoneId: string;
      })[];
    } | undefined;
  };
  readonly limits?: {
    /** From the close of the batch to the model; 24 unless patience or a value of time is given. */
    readonly deadlineHours?: number | undefined;
    /** Without a deadline: how long a run may stand still for cheap capacity, all its waits together. */
    readonly patienceHours?: number | undefined;
    /** What an hour sooner is worth. It is weighed against what capacity costs. */
    readonly valueOfTimeUsdPerHour?: number | undefined;
    /** Longest training time of one attempt. */
    readonly maximumRunSeconds?: number | undefined;
    /** No attempt starts that may pass this sum for the run. */
    readonly budgetUsd?: number | undefined;
    readonly attempts?: number | undefined;
    /** Ends the training of an attempt as finished after so many steps: for trials. It leaves no model. */
    readonly steps?: number | undefined;
  } | undefined;
  readonly retention?: {
    /** Plans, results of the packing map and notes of what a run read, after the end of the run. */
    readonly workDays?: number | "forever" | undefined;
    /** Checkpoints of a run that succeeded. Its model stays. */
    readonly checkpointDays?: number | "forever" | undefined;
    /** Checkpoints of a run that failed. */
    readonly failedCheckpointDays?: number | "forever" | undefined;
    /** The packed source of a run, if no other run of the pipeline uses it. */
    readonly sourceDays?: number | "forever" | undefined;
  } | undefined;
  readonly doctor?: {
    /** safe: the next attempt takes remedies of the doctor that cannot change what is trained (docs/doctor.md). */
    readonly apply?: "none" | "safe" | undefined;
  } | undefined;
  /** Also start a run on this schedule (EventBridge Scheduler syntax, UTC). */
  readonly schedule?: string | undefined;
  /** Let a scheduled run train although nothing arrived. */
  readonly trainWithoutNewData?: boolean | undefined;
  /** Topics and webhooks that hear of its runs. */
  readonly notify?: readonly ({
    /** An SNS topic, for e-mail, text messages and programs. */
    readonly topic?: string | undefined;
    /** A secret that holds the address of Slack's incoming webhook. */
    readonly slack?: string | undefined;
    /** A secret that holds the address of Discord's webhook. */
    readonly discord?: string | undefined;
    /** A secret that holds {"url": …, "key": …}: the key signs what is posted there. */
    readonly webhook?: string | undefined;
    /** What it hears of. Default: everything. */
    readonly on?: readonly ("finished" | "failed" | "stopped" | "interrupted" | "stalled" | "doctor" | "budget" | "deadline")[] | undefined;
    /** It hears of the first interruption of a run that comes after so many. */
    readonly afterInterruptions?: number | undefined;
  })[] | undefined;
};

export type StartRunBody = {
  /** Train as this run did: its declaration, data and source. Absent: as the pipeline declares now. */
  readonly again?: string | undefined;
  /** With `again`, pinned (the usual): the source of that run; current: as it is now. */
  readonly source?: "pinned" | "current" | undefined;
  /** A repeated call with the same token is answered with the same run. */
  readonly clientToken?: string | undefined;
};

export type StartProbeBody = {
  /** A new one. The same call again with the same number starts nothing more. */
  readonly number: number;
  /** A part of a declaration, such as { "compute": { "nodes": 2 } }; with limits.steps. */
  readonly change: Readonly<Record<string, unknown>>;
};

export type StopRunBody = {
  /** now: hosts on EC2 end without a last save; SageMaker always leaves 120 seconds for one. */
  readonly mode?: "afterSave" | "now" | undefined;
};

export type RetryRunBody = {
  /** pinned: the source of the attempts before; current: as it is now. */
  readonly source?: "pinned" | "current" | undefined;
};

export type PutLimitsBody = Readonly<Record<string, number | null>>;

export type PutPinBody = {
  /** Such as digits-000003; null takes the pin out. */
  readonly generation: string | null;
};

export type PlanRunBody = {
  /** Its name. */
  readonly pipeline: string;
  /** In YAML or JSON; absent: the stored one. */
  readonly declaration?: string | undefined;
  /** A part of a declaration: fields of training, compute, limits, retention and dataset. */
  readonly change?: Readonly<Record<string, unknown>> | undefined;
  /** New data, in place of what is in incoming/; each file counts as a sample. */
  readonly data?: {
    readonly files: number;
    readonly bytes: number;
  } | undefined;
};

export interface Operations {
  /** Lists pipelines by name. For the role viewer. */
  readonly listPipelines: {
    readonly parameters: {
      /** Items of a page. */
      readonly limit?: number | undefined;
      /** Of the page before; absent for the first page. */
      readonly nextToken?: string | undefined;
    };
    readonly body: undefined;
    readonly answer: ListPipelinesAnswer;
  };
  /** Shows a pipeline: its declaration, its problems and its open batch. For the role viewer. */
  readonly getPipeline: {
    readonly parameters: {
      /** Name of a pipeline. */
      readonly name: string;
    };
    readonly body: undefined;
    readonly answer: GetPipelineAnswer;
  };
  /** Declares a pipeline. Only a valid declaration is stored. For the role operator. */
  readonly putPipeline: {
    readonly parameters: {
      /** Name of a pipeline. */
      readonly name: string;
    };
    readonly body: Declaration;
    readonly answer: PutPipelineAnswer;
  };
  /** Deletes the declaration and ends its schedule. Runs and data stay. For the role operator. */
  readonly deletePipeline: {
    readonly parameters: {
      /** Name of a pipeline. */
      readonly name: string;
    };
    readonly body: undefined;
    readonly answer: DeletePipelineAnswer;
  };
  /** Lists the runs of a pipeline, newest first. For the role viewer. */
  readonly listPipelineRuns: {
    readonly parameters: {
      /** Name of a pipeline. */
      readonly name: string;
      /** Items of a page. */
      readonly limit?: number | undefined;
      /** Of the page before; absent for the first page. */
      readonly nextToken?: string | undefined;
    };
    readonly body: undefined;
    readonly answer: ListPipelineRunsAnswer;
  };
  /** Starts the run of the open batch, as declared, with changes, or as an earlier run. For the role operator. */
  readonly startRun: {
    readonly parameters: {
      /** Name of a pipeline. */
      readonly name: string;
    };
    readonly body: StartRunBody | undefined;
    readonly answer: StartRunAnswer;
  };
  /** Lists the probes of a pipeline, newest first, with the speed that was measured. For the role viewer. */
  readonly listProbes: {
    readonly parameters: {
      /** Name of a pipeline. */
      readonly name: string;
      /** Items of a page. */
      readonly limit?: number | undefined;
      /** Of the page before; absent for the first page. */
      readonly nextToken?: string | undefined;
    };
    readonly body: undefined;
    readonly answer: ListProbesAnswer;
  };
  /** Starts a short trial of other settings on the sealed dataset. For the role operator. */
  readonly startProbe: {
    readonly parameters: {
      /** Name of a pipeline. */
      readonly name: string;
    };
    readonly body: StartProbeBody;
    readonly answer: StartProbeAnswer;
  };
  /** Lists the runs of all pipelines, newest first. For the role viewer. */
  readonly listRuns: {
    readonly parameters: {
      /** Items of a page. */
      readonly limit?: number | undefined;
      /** Of the page before; absent for the first page. */
      readonly nextToken?: string | undefined;
      /** Only runs of this pipeline. */
      readonly pipeline?: string | undefined;
      /** Only runs of these statuses, with commas between them. */
      readonly status?: string | undefined;
      /** Only runs that began at this time or later. */
      readonly since?: string | undefined;
    };
    readonly body: undefined;
    readonly answer: ListPipelineRunsAnswer;
  };
  /** Shows a run: its attempts, its progress, its money so far and to come. For the role viewer. */
  readonly getRun: {
    readonly parameters: {
      /** Such as digits-000042. */
      readonly runId: string;
      /** `asOf` of an answer that the caller has: attempts and timeline are what has changed since. */
      readonly since?: string | undefined;
    };
    readonly body: undefined;
    readonly answer: GetRunAnswer;
  };
  /** Shows all that is known of the attempts of a run. For the role viewer. */
  readonly listAttempts: {
    readonly parameters: {
      /** Such as digits-000042. */
      readonly runId: string;
    };
    readonly body: undefined;
    readonly answer: ListAttemptsAnswer;
  };
  /** Shows the whole timeline of a run. For the role viewer. */
  readonly getTimeline: {
    readonly parameters: {
      /** Such as digits-000042. */
      readonly runId: string;
    };
    readonly body: undefined;
    readonly answer: GetTimelineAnswer;
  };
  /** Lists where each attempt of a run was placed, and why. For the role viewer. */
  readonly listPlacements: {
    readonly parameters: {
      /** Such as digits-000042. */
      readonly runId: string;
    };
    readonly body: undefined;
    readonly answer: ListPlacementsAnswer;
  };
  /** Shows the placement of an attempt with every pool that was weighed. For the role viewer. */
  readonly getPlacement: {
    readonly parameters: {
      /** Such as digits-000042. */
      readonly runId: string;
      /** Number of an attempt, from 1. */
      readonly attempt: string;
    };
    readonly body: undefined;
    readonly answer: GetPlacementAnswer;
  };
  /** Shows the report of an ended run. For the role viewer. */
  readonly getReport: {
    readonly parameters: {
      /** Such as digits-000042. */
      readonly runId: string;
    };
    readonly body: undefined;
    readonly answer: Report;
  };
  /** Shows what the script printed or logged, as one curve over all attempts. For the role viewer. */
  readonly getSeries: {
    readonly parameters: {
      /** Such as digits-000042. */
      readonly runId: string;
      /** One series; absent: all of them. */
      readonly name?: string | undefined;
      /** The most points of each series. */
      readonly points?: number | undefined;
    };
    readonly body: undefined;
    readonly answer: GetSeriesAnswer;
  };
  /** Shows how busy the hosts of all attempts were, and the doctor's verdicts. For the role viewer. */
  readonly getUtilisation: {
    readonly parameters: {
      /** Such as digits-000042. */
      readonly runId: string;
      /** The most points, and one more an attempt. */
      readonly points?: number | undefined;
    };
    readonly body: undefined;
    readonly answer: GetUtilisationAnswer;
  };
  /** Shows what the hosts of all attempts printed, as one stream, by pages or to follow. For the role viewer. */
  readonly getLog: {
    readonly parameters: {
      /** Such as digits-000042. */
      readonly runId: string;
      /** Only this attempt. */
      readonly attempt?: number | undefined;
      /** Only this host, such as algo-1. */
      readonly host?: string | undefined;
      /** Lines before this time are left out. */
      readonly since?: string | undefined;
      /** The most lines of a page. */
      readonly limit?: number | undefined;
      /** Of the page before; absent to begin. */
      readonly nextToken?: string | undefined;
    };
    readonly body: undefined;
    readonly answer: GetLogAnswer;
  };
  /** Ends a run, after a save or now. For the role operator. */
  readonly stopRun: {
    readonly parameters: {
      /** Such as digits-000042. */
      readonly runId: string;
    };
    readonly body: StopRunBody | undefined;
    readonly answer: StopRunAnswer;
  };
  /** Lets a failed or stopped run go on from its newest checkpoint. For the role operator. */
  readonly retryRun: {
    readonly parameters: {
      /** Such as digits-000042. */
      readonly runId: string;
    };
    readonly body: RetryRunBody | undefined;
    readonly answer: RetryRunAnswer;
  };
  /** Changes limits of a run that has not ended. For the role operator. */
  readonly putLimits: {
    readonly parameters: {
      /** Such as digits-000042. */
      readonly runId: string;
    };
    readonly body: PutLimitsBody;
    readonly answer: PutLimitsAnswer;
  };
  /** Decides the placement of an attempt again, with something changed. Nothing is started. For the role viewer. */
  readonly getWhatIf: {
    readonly parameters: {
      /** Such as digits-000042. */
      readonly runId: string;
      /** Number of an attempt, from 1. */
      readonly attempt: string;
      readonly deadlineHours?: number | undefined;
      readonly budgetUsd?: number | undefined;
      readonly purchaseOption?: "spot" | "on-demand" | "spot-then-on-demand" | undefined;
      readonly launcher?: "sagemaker" | "ec2" | "cheapest" | undefined;
      /** Such as g5.xlarge,g6.xlarge. */
      readonly instanceTypes?: string | undefined;
      /** Such as use1-az1,use1-az4. */
      readonly zoneIds?: string | undefined;
      /** Such as us-east-1,us-west-2. */
      readonly regions?: string | undefined;
      /** How much would move to a region that the pipeline did not name. */
      readonly dataGigabytes?: number | undefined;
    };
    readonly body: undefined;
    readonly answer: GetWhatIfAnswer;
  };
  /** Lists the versions and generations of a dataset. For the role viewer. */
  readonly getDataset: {
    readonly parameters: {
      /** Name of a pipeline. */
      readonly name: string;
    };
    readonly body: undefined;
    readonly answer: GetDatasetAnswer;
  };
  /** Shows the classes of a generation, what it rejected, and its first samples. For the role viewer. */
  readonly getGeneration: {
    readonly parameters: {
      /** Name of a pipeline. */
      readonly name: string;
      readonly generation: string;
    };
    readonly body: undefined;
    readonly answer: GetGenerationAnswer;
  };
  /** Shows an image of a generation, or one that it rejected. For the role viewer. */
  readonly getImage: {
    readonly parameters: {
      /** Name of a pipeline. */
      readonly name: string;
      readonly generation: string;
      /** With member: a member of a shard, read by its range. */
      readonly shard?: string | undefined;
      readonly member?: string | undefined;
      /** Instead: the key of a rejected example. */
      readonly rejected?: string | undefined;
    };
    readonly body: undefined;
    readonly answer: GetImageAnswer;
  };
  /** Pins a version of the dataset in the stored declaration, or takes the pin out. For the role operator. */
  readonly putPin: {
    readonly parameters: {
      /** Name of a pipeline. */
      readonly name: string;
    };
    readonly body: PutPinBody;
    readonly answer: PutPinAnswer;
  };
  /** Shows runs side by side: speed, utilisation, and dollars until the same metric. For the role viewer. */
  readonly compareRuns: {
    readonly parameters: {
      /** Such as digits-000041,digits-000042. */
      readonly runs: string;
      /** A series; absent: one that all runs have, a loss first. */
      readonly metric?: string | undefined;
    };
    readonly body: undefined;
    readonly answer: CompareRunsAnswer;
  };
  /** Shows scores and prices of the pools that pipelines may use, and what attempts met there. For the role viewer. */
  readonly getMarket: {
    readonly parameters: {
      /** How far back. */
      readonly days?: number | undefined;
    };
    readonly body: undefined;
    readonly answer: GetMarketAnswer;
  };
  /** Sums up what the runs of a month cost, by pipeline, day and pool. For the role viewer. */
  readonly getMoney: {
    readonly parameters: {
      /** Such as 2026-11, in UTC; absent: the current one. */
      readonly month?: string | undefined;
    };
    readonly body: undefined;
    readonly answer: GetMoneyAnswer;
  };
  /** Deletes the checkpoints of an ended run before their time. For the role operator. */
  readonly deleteCheckpoints: {
    readonly parameters: {
      /** Such as digits-000042. */
      readonly runId: string;
    };
    readonly body: undefined;
    readonly answer: DeleteCheckpointsAnswer;
  };
  /** Says what the next run of a declaration would do, cost and miss. Nothing is started. For the role viewer. */
  readonly planRun: {
    readonly parameters: Readonly<Record<never, never>>;
    readonly body: PlanRunBody;
    readonly answer: PlanRunAnswer;
  };
  /** Shows this document. For the role viewer. */
  readonly getOpenApi: {
    readonly parameters: Readonly<Record<never, never>>;
    readonly body: undefined;
    readonly answer: GetOpenApiAnswer;
  };
}

export const OPERATIONS = {
  listPipelines: { method: "GET", path: "/pipelines" },
  getPipeline: { method: "GET", path: "/pipelines/{name}" },
  putPipeline: { method: "PUT", path: "/pipelines/{name}" },
  deletePipeline: { method: "DELETE", path: "/pipelines/{name}" },
  listPipelineRuns: { method: "GET", path: "/pipelines/{name}/runs" },
  startRun: { method: "POST", path: "/pipelines/{name}/runs" },
  listProbes: { method: "GET", path: "/pipelines/{name}/probes" },
  startProbe: { method: "POST", path: "/pipelines/{name}/probes" },
  listRuns: { method: "GET", path: "/runs" },
  getRun: { method: "GET", path: "/runs/{runId}" },
  listAttempts: { method: "GET", path: "/runs/{runId}/attempts" },
  getTimeline: { method: "GET", path: "/runs/{runId}/timeline" },
  listPlacements: { method: "GET", path: "/runs/{runId}/placements" },
  getPlacement: { method: "GET", path: "/runs/{runId}/placements/{attempt}" },
  getReport: { method: "GET", path: "/runs/{runId}/report" },
  getSeries: { method: "GET", path: "/runs/{runId}/series" },
  getUtilisation: { method: "GET", path: "/runs/{runId}/utilisation" },
  getLog: { method: "GET", path: "/runs/{runId}/log" },
  stopRun: { method: "POST", path: "/runs/{runId}/stop" },
  retryRun: { method: "POST", path: "/runs/{runId}/retry" },
  putLimits: { method: "PUT", path: "/runs/{runId}/limits" },
  getWhatIf: { method: "GET", path: "/runs/{runId}/what-if/{attempt}" },
  getDataset: { method: "GET", path: "/pipelines/{name}/dataset" },
  getGeneration: { method: "GET", path: "/pipelines/{name}/dataset/{generation}" },
  getImage: { method: "GET", path: "/pipelines/{name}/dataset/{generation}/image" },
  putPin: { method: "PUT", path: "/pipelines/{name}/dataset/pin" },
  compareRuns: { method: "GET", path: "/compare" },
  getMarket: { method: "GET", path: "/market" },
  getMoney: { method: "GET", path: "/money" },
  deleteCheckpoints: { method: "DELETE", path: "/runs/{runId}/checkpoints" },
  planRun: { method: "POST", path: "/plan" },
  getOpenApi: { method: "GET", path: "/openapi.json" },
} as const satisfies Readonly<Record<keyof Operations, { readonly method: string; readonly path: string }>>;
