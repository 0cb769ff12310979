/** The libraries that read sealed versions, and which formats each reads. */
import type { EnvironmentName } from '../environments/environments.ts';
import type { TriedFormat } from './sealed-tree.ts';

export interface Reader {
  /** For the command line. Several readers of one library share it. */
  readonly name: string;
  readonly library: string;
  readonly environment: EnvironmentName;
  readonly script: string;
  /** What the script calls it. */
  readonly reader: string;
  readonly formats: readonly TriedFormat[];
  /** It reads the channel of a version with corrections and retractions, by several ranks, and not a generation. */
  readonly ofVersion?: true;
  /** It reports no names, only places: shard-000000.tar#12. */
  readonly byPlace?: true;
  /** Why it does not give the samples back. It is tried all the same. */
  readonly cannot?: string;
}

const of = (
  [name, library]: readonly [name: string, library: string],
  [environment, script]: readonly [EnvironmentName, string],
  reader: string,
  ...formats: readonly TriedFormat[]
): Reader => ({ name, library, environment, script, reader, formats });

const ofVersion = (...reader: Parameters<typeof of>): Reader => ({ ...of(...reader), ofVersion: true });

const TORCH = ['readers', 'read_torch.py'] as const;
const TENSORFLOW = ['readers-tensorflow', 'read_tensorflow.py'] as const;
const PIPE = ['readers-tensorflow', 'read_pipe.py'] as const;
const DALI = ['readers-dali', 'read_dali.py'] as const;
const SPARK = ['readers-spark', 'read_spark.py'] as const;
const RECORDS = ['tfrecord', 'tfrecord in gzip'] as const;

export const READERS: readonly Reader[] = [
  of(['webdataset', 'webdataset'], TORCH, 'webdataset', 'webdataset'),
  of(['webdataset', 'webdataset, decoded by 2 workers'], TORCH, 'webdataset, decoded', 'webdataset'),
  of(['torchdata', 'torchdata, stopped and resumed'], TORCH, 'torchdata', 'webdataset'),
  of(['streaming', 'mosaicml-streaming'], TORCH, 'mosaicml-streaming', 'mds'),
  {
    ...of(['litdata', 'LitData'], TORCH, 'litdata', 'mds'),
    cannot: 'it reads MDS only where the shards are compressed (`zip_data`)',
  },
  of(['tfrecord', 'tfrecord'], TORCH, 'tfrecord', ...RECORDS),
  of(['tf.data', 'tf.data'], TENSORFLOW, 'tf.data', ...RECORDS),
  of(['tf.data', 'tf.data'], TENSORFLOW, 'tf.data, lines', 'lines'),
  of(['datasets', 'Hugging Face datasets'], TENSORFLOW, 'datasets, webdataset', 'webdataset'),
  of(['datasets', 'Hugging Face datasets'], TENSORFLOW, 'datasets, lines', 'lines'),
  of(['datasets', 'Hugging Face datasets'], TENSORFLOW, 'datasets, parquet', 'parquet'),
  of(['pyarrow', 'pyarrow, by row groups'], TENSORFLOW, 'pyarrow', 'parquet'),
  of(['spark', 'Apache Spark, vectorized and by parquet-mr'], SPARK, 'Spark', 'parquet'),
  of(['ray', 'Ray Data'], TENSORFLOW, 'Ray Data, webdataset', 'webdataset'),
  of(['ray', 'Ray Data'], TENSORFLOW, 'Ray Data, tfrecord', ...RECORDS),
  of(['ray', 'Ray Data'], TENSORFLOW, 'Ray Data, parquet', 'parquet'),
  of(['ray', 'Ray Data'], TENSORFLOW, 'Ray Data, lines', 'lines'),
  ofVersion(['webdataset', 'webdataset, 2 ranks of 3 workers'], TORCH, 'webdataset, ranks', 'webdataset'),
  ofVersion(['torchdata', 'torchdata, 2 ranks, resumed'], TORCH, 'torchdata, ranks', 'webdataset'),
  ofVersion(['streaming', 'mosaicml-streaming, 2 ranks, resumed'], TORCH, 'streaming, ranks', 'mds'),
  ofVersion(['tf.data', 'tf.data, 3 ranks'], TENSORFLOW, 'tf.data, ranks', 'tfrecord'),
  ofVersion(['tf.data', 'tf.data, resumed'], TENSORFLOW, 'tf.data, resumed', 'tfrecord'),
  ofVersion(
    ['datasets', 'Hugging Face datasets, 2 ranks, resumed'],
    TENSORFLOW,
    'datasets, ranks',
    'webdataset',
    'parquet',
    'lines',
  ),
  ofVersion(['pyarrow', 'pyarrow, row groups of 3 ranks'], TENSORFLOW, 'pyarrow, ranks', 'parquet'),
  ofVersion(['spark', 'Apache Spark, vectorized and by parquet-mr'], SPARK, 'Spark, channel', 'parquet'),
  ofVersion(['ray', 'Ray Data, 2 ranks'], TENSORFLOW, 'Ray Data, ranks', 'parquet'),
  { ...of(['dali', 'NVIDIA DALI'], DALI, 'DALI, webdataset', 'webdataset'), byPlace: true },
  of(['dali', 'NVIDIA DALI'], DALI, 'DALI, tfrecord', 'tfrecord'),
  { ...of(['dali', 'NVIDIA DALI'], DALI, 'DALI, recordio', 'recordio'), byPlace: true },
  of(['pipe', "Pipe: the agent's readers"], PIPE, 'tar', 'webdataset'),
  of(['pipe', "Pipe: the agent's readers, TensorFlow's protobuf"], PIPE, 'tfrecord', ...RECORDS),
  of(['pipe', "Pipe: the agent's readers"], PIPE, 'lines', 'lines'),
  { ...of(['pipe', "Pipe: the agent's readers"], PIPE, 'recordio', 'recordio'), byPlace: true },
  {
    ...of(['pipe', 'Pipe: webdataset'], TORCH, 'webdataset, Pipe', 'webdataset'),
    cannot: 'it takes the end of the first shard for the end of the Pipe, without an error',
  },
  {
    ...of(['pipe', 'Pipe: tf.data'], TENSORFLOW, 'tf.data, Pipe', 'tfrecord'),
    cannot: 'it seeks, and a FIFO cannot',
  },
];

/** What people name for it, but the registry does not have. */
export const ABSENT: readonly {
  readonly name: string;
  readonly library: string;
  readonly package: string;
}[] = [{ name: 'pipe', library: "Pipe: SageMaker's PipeModeDataset", package: 'sagemaker-tensorflow' }];

export const READER_NAMES: readonly string[] = [...new Set(READERS.map(({ name }) => name))];
