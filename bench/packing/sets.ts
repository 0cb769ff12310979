/** The sets of files that packing is measured with. All of them are made up from the file's number. */
import { type Corpus, regularCorpus } from '../../test/support/memory-s3/listing.ts';

const INCOMING = 'bench/incoming/';

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

/** Of `npm run bench:packing`. */
export const SETS: Readonly<Record<string, BenchSet>> = {
  A: regular('100,000 files of 10 KB', 100_000, 10_000),
  B: regular('20,000 files of 110 KB', 20_000, 110_000),
  D: regular('2,000 files of 5 MB', 2_000, 5_000_000),
  E: regular('500 files of 64 MB', 500, 64_000_000),
};
