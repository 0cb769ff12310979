/**
 * The instance types that SageMaker trains on, without `ml.`, and the two facts about each family that shape a request.
 * Source of the names: TrainingInstanceType of the SageMaker API (a contract test compares them).
 */
import { familyOf, likeEarlier } from './instance-family.ts';

/** Sizes of each family, by the two facts. */
interface Table {
  /** gpu-arm64 is a GPU beside an Arm processor (Grace): it needs images of its own. */
  readonly device: 'cpu' | 'gpu' | 'gpu-arm64' | 'neuron';
  /** Whether the family brings NVMe disks of a fixed size, which SageMaker then uses instead of an EBS volume. */
  readonly localStorage: boolean;
  readonly families: Readonly<Record<string, string>>;
}

const TABLES = [
  {
    device: 'cpu',
    localStorage: false,
    families: {
      c4: 'xlarge 2xlarge 4xlarge 8xlarge',
      c5: 'xlarge 2xlarge 4xlarge 9xlarge 18xlarge',
      c5n: 'xlarge 2xlarge 4xlarge 9xlarge 18xlarge',
      c6i: 'xlarge 2xlarge 4xlarge 8xlarge 12xlarge 16xlarge 24xlarge 32xlarge',
      c7i: 'large xlarge 2xlarge 4xlarge 8xlarge 12xlarge 16xlarge 24xlarge 48xlarge',
      c8i: 'xlarge 2xlarge 4xlarge 8xlarge 12xlarge 16xlarge 24xlarge 32xlarge 48xlarge 96xlarge',
      m4: 'xlarge 2xlarge 4xlarge 10xlarge 16xlarge',
      m5: 'large xlarge 2xlarge 4xlarge 12xlarge 24xlarge',
      m6i: 'large xlarge 2xlarge 4xlarge 8xlarge 12xlarge 16xlarge 24xlarge 32xlarge',
      m7i: 'large xlarge 2xlarge 4xlarge 8xlarge 12xlarge 16xlarge 24xlarge 48xlarge',
      m8i: 'large xlarge 2xlarge 4xlarge 8xlarge 12xlarge 16xlarge 24xlarge 32xlarge 48xlarge 96xlarge',
      r5: 'large xlarge 2xlarge 4xlarge 8xlarge 12xlarge 16xlarge 24xlarge',
      r6i: 'large xlarge 2xlarge 4xlarge 8xlarge 12xlarge 16xlarge 24xlarge 32xlarge',
      r7i: 'large xlarge 2xlarge 4xlarge 8xlarge 12xlarge 16xlarge 24xlarge 48xlarge',
      r8i: 'large xlarge 2xlarge 4xlarge 8xlarge 12xlarge 16xlarge 24xlarge 32xlarge 48xlarge 96xlarge',
      t3: 'medium large xlarge 2xlarge',
    },
  },
  {
    device: 'cpu',
    localStorage: true,
    families: { r5d: 'large xlarge 2xlarge 4xlarge 8xlarge 12xlarge 16xlarge 24xlarge' },
  },
  {
    device: 'gpu',
    localStorage: true,
    families: {
      g4dn: 'xlarge 2xlarge 4xlarge 8xlarge 12xlarge 16xlarge',
      g5: 'xlarge 2xlarge 4xlarge 8xlarge 12xlarge 16xlarge 24xlarge 48xlarge',
      g6: 'xlarge 2xlarge 4xlarge 8xlarge 12xlarge 16xlarge 24xlarge 48xlarge',
      g6e: 'xlarge 2xlarge 4xlarge 8xlarge 12xlarge 16xlarge 24xlarge 48xlarge',
      g7: '2xlarge 4xlarge 8xlarge 12xlarge 24xlarge 48xlarge',
      g7e: '2xlarge 4xlarge 8xlarge 12xlarge 24xlarge 48xlarge',
      p3dn: '24xlarge',
      p4d: '24xlarge',
      p4de: '24xlarge',
      p5: '4xlarge 48xlarge',
      p5e: '48xlarge',
      p5en: '48xlarge',
      'p6-b200': '48xlarge',
      'p6-b300': '48xlarge',
    },
  },
  {
    device: 'gpu',
    localStorage: false,
    families: { p2: 'xlarge 8xlarge 16xlarge', p3: '2xlarge 8xlarge 16xlarge' },
  },
  {
    device: 'gpu-arm64',
    localStorage: true,
    families: { 'p6e-gb200': '36xlarge' },
  },
  {
    device: 'neuron',
    localStorage: true,
    families: { trn1: '2xlarge 32xlarge', trn1n: '32xlarge', trn2: '48xlarge' },
  },
] as const satisfies readonly Table[];

/**
 * In the API's model (botocore 1.43.106), and not yet in the SDK's enumeration (3.1142.0), of which the types here are
 * made. The API decides by itself.
 */
const NEWER: readonly Table[] = [
  {
    device: 'cpu',
    localStorage: false,
    families: {
      'c7i-flex': 'xlarge 2xlarge 4xlarge 8xlarge 12xlarge 16xlarge',
      'c8i-flex': 'xlarge 2xlarge 4xlarge 8xlarge 12xlarge 16xlarge',
      'm7i-flex': 'large xlarge 2xlarge 4xlarge 8xlarge 12xlarge 16xlarge',
      'm8i-flex': 'large xlarge 2xlarge 4xlarge 8xlarge 12xlarge 16xlarge',
      'r8i-flex': 'large xlarge 2xlarge 4xlarge 8xlarge 12xlarge 16xlarge',
    },
  },
];

type Words<Text extends string> = Text extends `${infer Word} ${infer Rest}` ? Word | Words<Rest> : Text;
type NamesOf<Families> = {
  [F in keyof Families & string]: `${F}.${Words<Families[F] & string>}`;
}[keyof Families & string];
type NamesIn<One extends Table> = One extends { readonly families: infer Families }
  ? NamesOf<Families>
  : never;
/** EC2 name without `ml.` */
type TypeName = NamesIn<(typeof TABLES)[number]>;
/** As the SageMaker API writes it: `ml.g5.xlarge`. */
export type TrainingInstanceType = `ml.${TypeName}`;

export interface TrainingType {
  readonly name: TrainingInstanceType;
  readonly device: Table['device'];
  readonly localStorage: boolean;
}

/** The words of the tables make every name, which the type cannot follow through split(). */
const namesOf = (family: string, sizes: string): readonly TypeName[] =>
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- TypeName is made of the same words
  sizes.split(' ').map((size) => `${family}.${size}` as TypeName);

const BY_NAME: ReadonlyMap<string, TrainingType> = new Map(
  [...TABLES, ...NEWER].flatMap(({ device, localStorage, families }) =>
    Object.entries(families)
      .flatMap(([family, sizes]) => namesOf(family, sizes))
      .map((name): [string, TrainingType] => [name, { name: `ml.${name}`, device, localStorage }]),
  ),
);

/**
 * A later generation than those of the table is taken for its newest, and CreateTrainingJob decides.
 * @param ec2Name such as g5.xlarge; undefined when SageMaker does not train on it
 */
export function trainingType(ec2Name: string): TrainingType | undefined {
  const known = BY_NAME.get(ec2Name);
  if (known !== undefined) return known;
  const like = BY_NAME.get(likeEarlier(ec2Name, BY_NAME.keys()) ?? '');
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- The SDK does not know it yet, either.
  return like && { ...like, name: `ml.${ec2Name}` as TrainingInstanceType };
}

/** Whether the table has it; else it is taken for another one. */
export const isKnownTrainingType = (ec2Name: string): boolean => BY_NAME.has(ec2Name);

/** Every type, with `ml.`. */
export const TRAINING_TYPES: readonly TrainingInstanceType[] = [...BY_NAME.values()].map(({ name }) => name);

/** Sizes of the family that a name belongs to, for a helpful refusal. */
export function knownSizes(ec2Name: string): readonly string[] {
  const family = familyOf(ec2Name);
  return [...BY_NAME.keys()].filter((name) => familyOf(name) === family);
}
