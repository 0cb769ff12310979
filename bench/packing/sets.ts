/** The sets of files that packing is measured with. All of them are made up from the file's number. */
import { seededUniform } from '@tidewheel/kit/seeded-random.ts';
import { type Corpus, pairedCorpus, regularCorpus } from './listing.ts';

export const INCOMING = 'bench/incoming/';

export interface BenchSet {
  readonly title: string;
  readonly files: number;
  /** Files in a shard of about 256 MB: the same for every tool. */
  readonly filesPerShard: number;
  /** More than memory holds at once: peers that need files on disk go shard by shard. */
  readonly isLarge: boolean;
  /** So many files hold few enough bytes to keep all outputs and compare them byte by byte. */
  readonly compared: number;
  corpus(files: number): Corpus;
}

const regular = (title: string, files: number, bytes: number): BenchSet => ({
  title,
  files,
  filesPerShard: Math.floor(256e6 / (bytes + 1_024)),
  isLarge: files * bytes > 4e9,
  compared: Math.min(files, Math.floor(300e6 / bytes)),
  corpus: (count) => regularCorpus({ prefix: INCOMING, count, size: () => bytes, suffix: 'jpg' }),
});

/** Median 20 KB, mean about 33 KB, the largest some MB. */
const MEDIAN_BYTES = 20_000;
const SPREAD = 1;

function logNormal(index: number): number {
  const draw = seededUniform(`image ${index}`);
  const normal = Math.sqrt(-2 * Math.log(1 - draw())) * Math.cos(2 * Math.PI * draw());
  return Math.min(4_000_000, Math.max(300, Math.round(MEDIAN_BYTES * Math.exp(SPREAD * normal))));
}

const PAIRS: BenchSet = {
  title: '25,000 pairs of an image (log-normal, median 20 KB) and a JSON of 200 to 400 bytes',
  files: 50_000,
  filesPerShard: 14_000,
  isLarge: false,
  compared: 12_000,
  corpus: (count) =>
    pairedCorpus({
      prefix: INCOMING,
      pairs: Math.ceil(count / 2),
      image: logNormal,
      json: (pair) => 200 + (pair % 200),
    }),
};

/** Of `npm run bench:packing`. */
export const SETS: Readonly<Record<string, BenchSet>> = {
  A: regular('100,000 files of 10 KB', 100_000, 10_000),
  B: regular('20,000 files of 110 KB', 20_000, 110_000),
  C: PAIRS,
  D: regular('2,000 files of 5 MB', 2_000, 5_000_000),
  E: regular('500 files of 64 MB', 500, 64_000_000),
};

/** Only to be planned: bench/packing/planning.ts. */
export const TO_PLAN: BenchSet = { ...regular('2,000,000 files of 5 KB', 2_000_000, 5_000), isLarge: true };

/** What serve.ts can serve. */
export const ALL_SETS: Readonly<Record<string, BenchSet>> = {
  ...SETS,
  plan: TO_PLAN,
  /** Only to be compacted: bench/packing/compacting.ts. */
  compact: regular('1,000,000 files of 100 bytes', 1_000_000, 100),
};
