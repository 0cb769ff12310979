/**
 * The instance types that SageMaker trains on, without `ml.`, and the two facts about each family that shape a request.
 * Source of the names: TrainingInstanceType of the SageMaker API (a contract test compares them).
 */
import { familyOf } from './instance-family.ts';

interface Family {
  /** gpu-arm64 is a GPU beside an Arm processor (Grace): it needs images of its own. */
  readonly device: 'cpu' | 'gpu' | 'gpu-arm64' | 'neuron';
  /** Whether the family brings NVMe disks of a fixed size, which SageMaker then uses instead of an EBS volume. */
  readonly localStorage: boolean;
  readonly sizes: readonly string[];
}

const FAMILIES = {
  c4: { device: 'cpu', localStorage: false, sizes: ['xlarge', '2xlarge', '4xlarge', '8xlarge'] },
  c5: { device: 'cpu', localStorage: false, sizes: ['xlarge', '2xlarge', '4xlarge', '9xlarge', '18xlarge'] },
  c5n: { device: 'cpu', localStorage: false, sizes: ['xlarge', '2xlarge', '4xlarge', '9xlarge', '18xlarge'] },
  c6i: {
    device: 'cpu',
    localStorage: false,
    sizes: ['xlarge', '2xlarge', '4xlarge', '8xlarge', '12xlarge', '16xlarge', '24xlarge', '32xlarge'],
  },
  c7i: {
    device: 'cpu',
    localStorage: false,
    sizes: [
      'large',
      'xlarge',
      '2xlarge',
      '4xlarge',
      '8xlarge',
      '12xlarge',
      '16xlarge',
      '24xlarge',
      '48xlarge',
    ],
  },
  c8i: {
    device: 'cpu',
    localStorage: false,
    sizes: [
      'xlarge',
      '2xlarge',
      '4xlarge',
      '8xlarge',
      '12xlarge',
      '16xlarge',
      '24xlarge',
      '32xlarge',
      '48xlarge',
      '96xlarge',
    ],
  },
  m4: { device: 'cpu', localStorage: false, sizes: ['xlarge', '2xlarge', '4xlarge', '10xlarge', '16xlarge'] },
  m5: {
    device: 'cpu',
    localStorage: false,
    sizes: ['large', 'xlarge', '2xlarge', '4xlarge', '12xlarge', '24xlarge'],
  },
  m6i: {
    device: 'cpu',
    localStorage: false,
    sizes: [
      'large',
      'xlarge',
      '2xlarge',
      '4xlarge',
      '8xlarge',
      '12xlarge',
      '16xlarge',
      '24xlarge',
      '32xlarge',
    ],
  },
  m7i: {
    device: 'cpu',
    localStorage: false,
    sizes: [
      'large',
      'xlarge',
      '2xlarge',
      '4xlarge',
      '8xlarge',
      '12xlarge',
      '16xlarge',
      '24xlarge',
      '48xlarge',
    ],
  },
  m8i: {
    device: 'cpu',
    localStorage: false,
    sizes: [
      'large',
      'xlarge',
      '2xlarge',
      '4xlarge',
      '8xlarge',
      '12xlarge',
      '16xlarge',
      '24xlarge',
      '32xlarge',
      '48xlarge',
      '96xlarge',
    ],
  },
  r5: {
    device: 'cpu',
    localStorage: false,
    sizes: ['large', 'xlarge', '2xlarge', '4xlarge', '8xlarge', '12xlarge', '16xlarge', '24xlarge'],
  },
  r5d: {
    device: 'cpu',
    localStorage: true,
    sizes: ['large', 'xlarge', '2xlarge', '4xlarge', '8xlarge', '12xlarge', '16xlarge', '24xlarge'],
  },
  r6i: {
    device: 'cpu',
    localStorage: false,
    sizes: [
      'large',
      'xlarge',
      '2xlarge',
      '4xlarge',
      '8xlarge',
      '12xlarge',
      '16xlarge',
      '24xlarge',
      '32xlarge',
    ],
  },
  r7i: {
    device: 'cpu',
    localStorage: false,
    sizes: [
      'large',
      'xlarge',
      '2xlarge',
      '4xlarge',
      '8xlarge',
      '12xlarge',
      '16xlarge',
      '24xlarge',
      '48xlarge',
    ],
  },
  r8i: {
    device: 'cpu',
    localStorage: false,
    sizes: [
      'large',
      'xlarge',
      '2xlarge',
      '4xlarge',
      '8xlarge',
      '12xlarge',
      '16xlarge',
      '24xlarge',
      '32xlarge',
      '48xlarge',
      '96xlarge',
    ],
  },
  t3: { device: 'cpu', localStorage: false, sizes: ['medium', 'large', 'xlarge', '2xlarge'] },
  g4dn: {
    device: 'gpu',
    localStorage: true,
    sizes: ['xlarge', '2xlarge', '4xlarge', '8xlarge', '12xlarge', '16xlarge'],
  },
  g5: {
    device: 'gpu',
    localStorage: true,
    sizes: ['xlarge', '2xlarge', '4xlarge', '8xlarge', '12xlarge', '16xlarge', '24xlarge', '48xlarge'],
  },
  g6: {
    device: 'gpu',
    localStorage: true,
    sizes: ['xlarge', '2xlarge', '4xlarge', '8xlarge', '12xlarge', '16xlarge', '24xlarge', '48xlarge'],
  },
  g6e: {
    device: 'gpu',
    localStorage: true,
    sizes: ['xlarge', '2xlarge', '4xlarge', '8xlarge', '12xlarge', '16xlarge', '24xlarge', '48xlarge'],
  },
  g7: {
    device: 'gpu',
    localStorage: true,
    sizes: ['2xlarge', '4xlarge', '8xlarge', '12xlarge', '24xlarge', '48xlarge'],
  },
  g7e: {
    device: 'gpu',
    localStorage: true,
    sizes: ['2xlarge', '4xlarge', '8xlarge', '12xlarge', '24xlarge', '48xlarge'],
  },
  p2: { device: 'gpu', localStorage: false, sizes: ['xlarge', '8xlarge', '16xlarge'] },
  p3: { device: 'gpu', localStorage: false, sizes: ['2xlarge', '8xlarge', '16xlarge'] },
  p3dn: { device: 'gpu', localStorage: true, sizes: ['24xlarge'] },
  p4d: { device: 'gpu', localStorage: true, sizes: ['24xlarge'] },
  p4de: { device: 'gpu', localStorage: true, sizes: ['24xlarge'] },
  p5: { device: 'gpu', localStorage: true, sizes: ['4xlarge', '48xlarge'] },
  p5e: { device: 'gpu', localStorage: true, sizes: ['48xlarge'] },
  p5en: { device: 'gpu', localStorage: true, sizes: ['48xlarge'] },
  'p6-b200': { device: 'gpu', localStorage: true, sizes: ['48xlarge'] },
  'p6-b300': { device: 'gpu', localStorage: true, sizes: ['48xlarge'] },
  'p6e-gb200': { device: 'gpu-arm64', localStorage: true, sizes: ['36xlarge'] },
  trn1: { device: 'neuron', localStorage: true, sizes: ['2xlarge', '32xlarge'] },
  trn1n: { device: 'neuron', localStorage: true, sizes: ['32xlarge'] },
  trn2: { device: 'neuron', localStorage: true, sizes: ['48xlarge'] },
} as const satisfies Record<string, Family>;

type Families = typeof FAMILIES;
/** EC2 name without `ml.` */
type TypeName = { [F in keyof Families]: `${F}.${Families[F]['sizes'][number]}` }[keyof Families];
/** As the SageMaker API writes it: `ml.g5.xlarge`. */
export type TrainingInstanceType = `ml.${TypeName}`;

export interface TrainingType {
  readonly name: TrainingInstanceType;
  readonly device: Family['device'];
  readonly localStorage: boolean;
}

/** The keys and sizes of the table make every name, which the type cannot follow through Object.entries. */
const isTypeName = (name: string): name is TypeName => {
  const [family = '', size = ''] = name.split('.');
  const known: Readonly<Record<string, Family>> = FAMILIES;
  return Object.hasOwn(known, family) && (known[family]?.sizes.includes(size) ?? false);
};

const BY_NAME: ReadonlyMap<string, TrainingType> = new Map(
  Object.entries(FAMILIES).flatMap(([family, { device, localStorage, sizes }]) =>
    sizes
      .map((size) => `${family}.${size}`)
      .filter(isTypeName)
      .map((name): [string, TrainingType] => [name, { name: `ml.${name}`, device, localStorage }]),
  ),
);

/** @param ec2Name such as g5.xlarge; undefined when SageMaker does not train on it */
export const trainingType = (ec2Name: string): TrainingType | undefined => BY_NAME.get(ec2Name);

/** Every type, with `ml.`. */
export const TRAINING_TYPES: readonly TrainingInstanceType[] = [...BY_NAME.values()].map(({ name }) => name);

/** Sizes of the family that a name belongs to, for a helpful refusal. */
export function knownSizes(ec2Name: string): readonly string[] {
  const family = familyOf(ec2Name);
  return [...BY_NAME.keys()].filter((name) => familyOf(name) === family);
}
