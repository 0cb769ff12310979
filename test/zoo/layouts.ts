/**
 * How people lay data out: a small drop of each kind, what `init` writes of it, what comes out of packing, and what is
 * said. Keys are below the folder of the data.
 */
import type { PackingSettings } from '@tidewheel/declaration/pipeline.ts';
import type { LayoutFields } from '../../cli/init/layout.ts';

export interface Layout {
  readonly name: string;
  /** Keys alone, or keys with their texts. */
  readonly files: Readonly<Record<string, string>>;
  /** Of `packing`, as init writes it. */
  readonly init: LayoutFields;
  /** What a person adds to it. */
  readonly declared?: Partial<PackingSettings>;
  readonly samples: number;
  /** How many samples have each, without labels that packing makes. */
  readonly columns: Readonly<Record<string, number>>;
  /** Samples of each class. */
  readonly labels?: Readonly<Record<string, number>>;
  readonly splits?: Readonly<Record<string, number>>;
  /** Each is found in what init says, or in what the seal says. */
  readonly said?: readonly RegExp[];
}

/** Keys whose texts do not matter. */
const keys = (...all: readonly string[]): Record<string, string> =>
  Object.fromEntries(all.map((key) => [key, '']));

/** `many(2, (n) => ...)`: of 0 and 1. */
const many = (count: number, keyOf: (number: number) => string): string[] =>
  Array.from({ length: count }, (_, number) => keyOf(number));

const four = (number: number): string => `${number}`.padStart(4, '0');
const LABELLED = { label: 'parentFolder' } as const;
const PLAIN = { label: 'none' } as const;

const CLASSES: readonly Layout[] = [
  {
    name: 'class folders',
    files: keys('cat/1.jpg', 'cat/2.jpg', 'dog/1.jpg'),
    init: LABELLED,
    samples: 3,
    columns: { image: 3 },
    labels: { cat: 2, dog: 1 },
    said: [/2 classes \(cat, dog\), such as "cat" of "cat\/1\.jpg"/],
  },
  {
    name: 'class folders of recordings',
    files: keys(
      ...['cat', 'dog'].flatMap((name) => many(2, (n) => `${name}/camera-${n}/1.jpg`)),
      'cat/camera-0/2.jpg',
    ),
    init: { label: 'parentFolder', labelLevel: 1 },
    samples: 5,
    columns: { image: 5 },
    labels: { cat: 3, dog: 2 },
  },
  {
    name: 'class folders below groups',
    files: keys(
      ...many(2, (n) => `animal/cat/${n}.jpg`),
      ...many(2, (n) => `animal/dog/${n}.jpg`),
      ...many(2, (n) => `vehicle/car/${n}.jpg`),
    ),
    init: LABELLED,
    samples: 6,
    columns: { image: 6 },
    labels: { cat: 2, dog: 2, car: 2 },
  },
  {
    name: 'class folders with a folder for each sample',
    files: keys(
      ...many(4, (n) => `benign/case${n}a/slide.png`),
      ...many(4, (n) => `malignant/case${n}b/slide.png`),
    ),
    init: { label: 'parentFolder', labelLevel: 1 },
    samples: 8,
    columns: { image: 8 },
    labels: { benign: 4, malignant: 4 },
  },
  {
    name: 'class folders of uneven depth',
    files: keys('cat/1.jpg', 'cat/more/2.jpg', 'dog/3.jpg'),
    init: { label: 'parentFolder', labelLevel: 1 },
    samples: 3,
    columns: { image: 3 },
    labels: { cat: 2, dog: 1 },
  },
  {
    name: 'one flat folder',
    files: keys(...many(3, (n) => `${n}.png`)),
    init: PLAIN,
    samples: 3,
    columns: { image: 3 },
  },
];

const SPLITS: readonly Layout[] = [
  {
    name: 'train, val and test folders of classes',
    files: keys(
      ...many(6, (n) => `train/cat/${n}.jpg`),
      ...many(6, (n) => `train/dog/${n}.jpg`),
      ...many(3, (n) => `val/cat/${n}.jpg`),
      ...many(3, (n) => `val/dog/${n}.jpg`),
      ...many(2, (n) => `test/cat/${n}.jpg`),
      ...many(2, (n) => `test/dog/${n}.jpg`),
    ),
    init: { split: { by: 'folder', train: ['train'], validation: ['val'], test: ['test'] }, ...LABELLED },
    samples: 22,
    columns: { image: 22 },
    labels: { cat: 11, dog: 11 },
    splits: { train: 12, validation: 6, test: 4 },
    said: [/22 samples: .*12 for train \("train\/cat\/0\.jpg"\).*6 for validation/],
  },
  {
    name: 'Training and Testing',
    files: keys(
      ...many(3, (n) => `Training/glioma/Tr-gl_${n}.jpg`),
      ...many(3, (n) => `Training/notumor/Tr-no_${n}.jpg`),
      ...many(2, (n) => `Testing/glioma/Te-gl_${n}.jpg`),
      'Testing/notumor/Te-no_0.jpg',
    ),
    init: { split: { by: 'folder', train: ['Training'], test: ['Testing'] }, ...LABELLED },
    samples: 9,
    columns: { image: 9 },
    labels: { glioma: 5, notumor: 4 },
    splits: { train: 6, test: 3 },
  },
  {
    name: 'split=train partitions',
    files: keys(
      ...many(4, (n) => `split=train/part-${n}.parquet`),
      'split=validation/part-0.parquet',
      'split=test/part-0.parquet',
    ),
    init: {
      split: { by: 'folder', train: ['split=train'], validation: ['split=validation'], test: ['split=test'] },
      ...PLAIN,
    },
    samples: 6,
    columns: { parquet: 6 },
    splits: { train: 4, validation: 1, test: 1 },
  },
  {
    name: 'a split inside each class',
    files: keys(
      ...many(3, (n) => `cat/train/${n}.jpg`),
      'cat/test/0.jpg',
      ...many(3, (n) => `dog/train/${n}.jpg`),
      'dog/test/0.jpg',
    ),
    init: { split: { by: 'folder', train: ['train'], test: ['test'] }, ...LABELLED },
    samples: 8,
    columns: { image: 8 },
    labels: { cat: 4, dog: 4 },
    splits: { train: 6, test: 2 },
  },
  {
    name: 'lists in text files',
    files: {
      ...keys(...many(5, (n) => `jpg/image_${four(n)}.jpg`)),
      'train.txt': many(3, (n) => `jpg/image_${four(n)}.jpg`).join('\n'),
      'val.txt': 'jpg/image_0003.jpg 1\r\njpg/image_0004.jpg 0\r\n',
    },
    init: { split: { by: 'list', train: ['train.txt'], validation: ['val.txt'] }, ...PLAIN },
    samples: 5,
    columns: { image: 5 },
    splits: { train: 3, validation: 2 },
  },
  {
    name: 'lists of another machine',
    files: {
      ...keys(...many(4, (n) => `obj_train_data/${n}.jpg`)),
      'train.txt': many(3, (n) => `data/obj_train_data/${n}.jpg`).join('\n'),
      'valid.txt': './data/obj_train_data/3.jpg\n',
    },
    init: { split: { by: 'list', train: ['train.txt'], validation: ['valid.txt'] }, ...PLAIN },
    samples: 4,
    columns: { image: 4 },
    splits: { train: 3, validation: 1 },
  },
  {
    name: 'a file that is in no split',
    files: keys(...many(3, (n) => `train/${n}.jpg`), 'val/9.jpg', 'stray.jpg'),
    init: { split: { by: 'folder', train: ['train'], validation: ['val'] }, ...PLAIN },
    samples: 4,
    columns: { image: 4 },
    splits: { train: 3, validation: 1 },
    said: [/1 of 5 files are left out \(groupMissing\), such as "stray\.jpg"/],
  },
];

const PAIRS: readonly Layout[] = [
  {
    name: 'images and masks',
    files: keys(...many(5, (n) => `images/${four(n)}.jpg`), ...many(5, (n) => `masks/${four(n)}.png`)),
    init: { join: { image: 'images/*', mask: 'masks/*' }, require: ['image', 'mask'], ...PLAIN },
    samples: 5,
    columns: { image: 5, mask: 5 },
    said: [/5 of 5 samples have image and mask, such as "images\/0000\.jpg" with "masks\/0000\.png"/],
  },
  {
    name: 'images and labels of YOLO, with a split',
    files: keys(
      ...many(3, (n) => `images/train/${n}.jpg`),
      ...many(2, (n) => `labels/train/${n}.txt`),
      'images/val/9.jpg',
      'labels/val/9.txt',
    ),
    init: {
      split: { by: 'folder', train: ['train'], validation: ['val'] },
      join: { image: 'images/*', txt: 'labels/*' },
      require: ['image'],
      ...PLAIN,
    },
    samples: 4,
    columns: { image: 4, txt: 3 },
    splits: { train: 3, validation: 1 },
    said: [/3 of 4 samples have image and txt/],
  },
  {
    name: 'images and labels below each split',
    files: keys(
      ...many(3, (n) => `train/images/${n}.jpg`),
      ...many(3, (n) => `train/labels/${n}.txt`),
      'valid/images/7.jpg',
      'valid/labels/7.txt',
    ),
    init: {
      split: { by: 'folder', train: ['train'], validation: ['valid'] },
      join: { image: 'images/*', txt: 'labels/*' },
      require: ['image', 'txt'],
      ...PLAIN,
    },
    samples: 4,
    columns: { image: 4, txt: 4 },
    splits: { train: 3, validation: 1 },
  },
  {
    name: 'VOC, with lists',
    files: {
      ...keys(
        ...many(4, (n) => `JPEGImages/2007_${four(n)}.jpg`),
        ...many(4, (n) => `Annotations/2007_${four(n)}.xml`),
        'SegmentationClass/2007_0000.png',
      ),
      'ImageSets/Main/train.txt': many(3, (n) => `2007_${four(n)}`).join('\n'),
      'ImageSets/Main/val.txt': '2007_0003\n',
    },
    init: {
      split: { by: 'list', train: ['ImageSets/Main/train.txt'], validation: ['ImageSets/Main/val.txt'] },
      join: { image: 'JPEGImages/*', xml: 'Annotations/*', mask: 'SegmentationClass/*' },
      require: ['image', 'xml'],
      ...PLAIN,
    },
    samples: 4,
    columns: { image: 4, xml: 4, mask: 1 },
    splits: { train: 3, validation: 1 },
  },
  {
    name: 'volumes of nnU-Net',
    files: {
      ...keys(
        ...many(4, (n) => `imagesTr/BRATS_${four(n)}_0000.nii.gz`),
        ...many(4, (n) => `labelsTr/BRATS_${four(n)}.nii.gz`),
      ),
      'dataset.json': '{"labels": {"background": 0}}',
    },
    init: {
      join: { image: 'imagesTr/*_0000', mask: 'labelsTr/*' },
      require: ['image_nii_gz', 'mask_nii_gz'],
      ...PLAIN,
    },
    samples: 4,
    columns: { image_nii_gz: 4, mask_nii_gz: 4 },
    said: [
      /"dataset\.json" is about many files/,
      /1 of 9 files are left out \(suffixNotAccepted\), such as "dataset\.json"/,
    ],
  },
  {
    name: 'frames and ground truth of Cityscapes',
    files: keys(
      ...many(3, (n) => `leftImg8bit/train/aachen/aachen_${four(n)}_leftImg8bit.png`),
      ...many(3, (n) => `gtFine/train/aachen/aachen_${four(n)}_gtFine_labelIds.png`),
      'leftImg8bit/val/ulm/ulm_0009_leftImg8bit.png',
      'gtFine/val/ulm/ulm_0009_gtFine_labelIds.png',
    ),
    init: {
      split: { by: 'folder', train: ['train'], validation: ['val'] },
      join: { image: 'leftImg8bit/*_leftImg8bit', mask: 'gtFine/*_gtFine_labelIds' },
      require: ['image', 'mask'],
      ...PLAIN,
    },
    samples: 4,
    columns: { image: 4, mask: 4 },
    splits: { train: 3, validation: 1 },
  },
  {
    name: 'two pictures of a place, and what changed',
    files: keys(
      ...many(3, (n) => `train/A/${n}.tif`),
      ...many(3, (n) => `train/B/${n}.tif`),
      ...many(3, (n) => `train/label/${n}.tif`),
      'test/A/9.tif',
      'test/B/9.tif',
      'test/label/9.tif',
    ),
    init: {
      split: { by: 'folder', train: ['train'], test: ['test'] },
      join: { image: 'A/*', b: 'B/*', mask: 'label/*' },
      require: ['image_tif', 'b_tif', 'mask_tif'],
      ...PLAIN,
    },
    samples: 4,
    columns: { image_tif: 4, b_tif: 4, mask_tif: 4 },
    splits: { train: 3, test: 1 },
  },
  {
    name: 'masks by the end of their names',
    files: keys(...many(3, (n) => `img_${n}.jpg`), ...many(3, (n) => `img_${n}_mask.png`)),
    init: { join: { mask: '*_mask' }, require: [], ...PLAIN },
    samples: 3,
    columns: { image: 3, mask: 3 },
  },
  {
    name: 'masks by a word between dots',
    files: keys(...many(3, (n) => `${n}.jpg`), ...many(3, (n) => `${n}.seg.png`)),
    init: PLAIN,
    samples: 3,
    columns: { image: 3, seg: 3 },
    said: [/3 join a sample by a word between dots, such as "0\.seg\.png"/],
  },
  {
    name: 'scans and labels of points',
    files: keys(...many(3, (n) => `velodyne/${four(n)}.bin`), ...many(3, (n) => `labels/${four(n)}.label`)),
    init: { join: { bin: 'velodyne/*', mask: 'labels/*' }, require: ['bin', 'mask_label'], ...PLAIN },
    samples: 3,
    columns: { bin: 3, mask_label: 3 },
  },
  {
    name: 'captions beside their images',
    files: keys(...many(3, (n) => `${n}.png`), ...many(3, (n) => `${n}.txt`)),
    init: PLAIN,
    samples: 3,
    columns: { image: 3, txt: 3 },
    said: [/3 join a file of the same name, as one sample, such as "0\.txt"/],
  },
];

const PUBLIC: readonly Layout[] = [
  {
    name: 'images, trimaps and boxes of pets, with lists',
    files: {
      ...keys(
        ...many(4, (n) => `images/Abyssinian_${n}.jpg`),
        ...many(4, (n) => `annotations/trimaps/Abyssinian_${n}.png`),
        ...many(3, (n) => `annotations/xmls/Abyssinian_${n}.xml`),
      ),
      'annotations/trainval.txt': 'Abyssinian_0 1 1 1\nAbyssinian_1 1 1 1\nAbyssinian_2 1 1 1\n',
      'annotations/test.txt': 'Abyssinian_3 1 1 1\n',
    },
    init: {
      split: { by: 'list', train: ['annotations/trainval.txt'], test: ['annotations/test.txt'] },
      join: { image: 'images/*', mask: 'annotations/trimaps/*', xml: 'annotations/xmls/*' },
      require: ['image', 'mask'],
      ...PLAIN,
    },
    samples: 4,
    columns: { image: 4, mask: 4, xml: 3 },
    splits: { train: 3, test: 1 },
  },
  {
    name: 'masks in a folder beside that of training',
    files: keys(
      ...many(4, (n) => `train/car_${four(n)}.jpg`),
      ...many(4, (n) => `train_masks/car_${four(n)}_mask.gif`),
      ...many(2, (n) => `test/car_${four(n + 7)}.jpg`),
    ),
    init: {
      split: { by: 'folder', train: ['train'], test: ['test'] },
      join: { image: 'train/*', mask: 'train_masks/*_mask' },
      require: ['image'],
      ...PLAIN,
    },
    samples: 6,
    columns: { image: 6, mask: 4 },
    splits: { train: 4, test: 2 },
  },
  {
    name: 'inputs and ground truth of lesions',
    files: keys(
      ...many(3, (n) => `Training_Input/ISIC_${four(n)}.jpg`),
      ...many(3, (n) => `Training_GroundTruth/ISIC_${four(n)}_segmentation.png`),
    ),
    init: {
      join: { image: 'Training_Input/*', mask: 'Training_GroundTruth/*_segmentation' },
      require: ['image', 'mask'],
      ...PLAIN,
    },
    samples: 3,
    columns: { image: 3, mask: 3 },
  },
  {
    name: 'actions with lists for several splits',
    files: {
      ...keys(...many(3, (n) => `UCF/Eye/v_Eye_${n}.avi`), ...many(3, (n) => `UCF/Lip/v_Lip_${n}.avi`)),
      'lists/trainlist01.txt': many(2, (n) => `Eye/v_Eye_${n}.avi 1\nLip/v_Lip_${n}.avi 2`).join('\n'),
      'lists/testlist01.txt': 'Eye/v_Eye_2.avi\nLip/v_Lip_2.avi\n',
      'lists/trainlist02.txt': 'Eye/v_Eye_2.avi 1\n',
    },
    init: {
      split: { by: 'list', train: ['lists/trainlist01.txt'], test: ['lists/testlist01.txt'] },
      ...LABELLED,
    },
    samples: 6,
    columns: { avi: 6 },
    labels: { Eye: 3, Lip: 3 },
    splits: { train: 4, test: 2 },
    said: [/lists\/trainlist02\.txt/],
  },
  {
    name: 'classes in names',
    files: keys(
      ...many(4, (n) => `train/cat.${n}.jpg`),
      ...many(4, (n) => `train/dog.${n}.jpg`),
      ...many(2, (n) => `test1/${n}.jpg`),
    ),
    init: { split: { by: 'folder', train: ['train'], test: ['test1'] }, ...PLAIN },
    samples: 10,
    columns: { image: 10 },
    splits: { train: 8, test: 2 },
    said: [/names begin with cat, dog: if these are the classes, write label: namePattern/],
  },
  {
    name: 'files of records by split and piece',
    files: keys(...many(2, (n) => `train-0000${n}-of-00002.parquet`), 'test-00000-of-00001.parquet'),
    init: {
      split: {
        by: 'folder',
        train: ['train-00000-of-00002.parquet', 'train-00001-of-00002.parquet'],
        test: ['test-00000-of-00001.parquet'],
      },
      ...PLAIN,
    },
    samples: 3,
    columns: { parquet: 3 },
    splits: { train: 2, test: 1 },
  },
  {
    name: 'folders of patients',
    files: keys(...many(8, (n) => `patient_${n % 3}/scan_${n}.dcm`)),
    init: PLAIN,
    samples: 8,
    columns: { dcm: 8 },
  },
  {
    name: 'sounds for training and development',
    files: keys(
      ...many(3, (n) => `train-clean-100/19/198/19-198-${four(n)}.flac`),
      'train-clean-100/19/198/19-198.trans.txt',
      ...many(2, (n) => `dev-clean/84/121/84-121-${four(n)}.flac`),
    ),
    init: {
      split: { by: 'folder', train: ['train-clean-100'], validation: ['dev-clean'] },
      label: 'parentFolder',
      labelLevel: 1,
    },
    samples: 5,
    columns: { flac: 5 },
    labels: { 19: 3, 84: 2 },
    splits: { train: 3, validation: 2 },
  },
  {
    name: 'with_mask and without_mask are classes',
    files: keys(...many(3, (n) => `with_mask/${n}.jpg`), ...many(3, (n) => `without_mask/${n}.jpg`)),
    init: LABELLED,
    samples: 6,
    columns: { image: 6 },
    labels: { with_mask: 3, without_mask: 3 },
  },
];

const csv = (header: string, rows: readonly string[]): string => `${[header, ...rows].join('\n')}\n`;
const labelOf = (number: number): string => (number % 2 === 0 ? 'healthy' : 'rust');
const TWO = (count: number) => ({ healthy: Math.ceil(count / 2), rust: Math.floor(count / 2) });

const TABLES: readonly Layout[] = [
  {
    name: 'a CSV beside a folder, as on Kaggle',
    files: {
      ...keys(...many(12, (n) => `train_images/${four(n)}.jpg`)),
      'train.csv': csv(
        'image_id,label',
        many(12, (n) => `${four(n)},${labelOf(n)}`),
      ),
    },
    init: {
      label: 'annotations',
      annotations: { file: 'train.csv', key: 'image_id', label: 'label', folder: 'train_images/' },
    },
    samples: 12,
    columns: { image: 12 },
    labels: TWO(12),
    said: [/12 rows in train\.csv; 2 classes \(healthy, rust\)/],
  },
  {
    name: 'a CSV that names files of which some are missing',
    files: {
      ...keys(...many(3, (n) => `images/${n}.png`)),
      'labels.csv': csv(
        'file,label',
        many(4, (n) => `${n + 1}.png,${labelOf(n + 1)}`),
      ),
    },
    init: {
      label: 'annotations',
      annotations: { file: 'labels.csv', key: 'file', label: 'label', folder: 'images/' },
    },
    samples: 2,
    columns: { image: 2 },
    labels: { rust: 1, healthy: 1 },
    said: [
      /1 of 3 files are left out \(labelMissing\)/,
      /2 rows name no file, such as "images\/3\.png", while "images\/0\.png" has no row/,
    ],
  },
  {
    name: 'a table over several folders',
    files: {
      ...keys(
        ...many(4, (n) => `HAM_part_1/ISIC_${n}.jpg`),
        ...many(4, (n) => `HAM_part_2/ISIC_${n + 4}.jpg`),
      ),
      'metadata.csv': csv(
        'lesion_id,image_id,dx,age',
        many(8, (n) => `HAM_${n},ISIC_${n},${labelOf(n)},${40 + n}`),
      ),
    },
    init: {
      label: 'annotations',
      annotations: { file: 'metadata.csv', key: 'image_id', label: 'dx', folder: '*/' },
    },
    samples: 8,
    columns: { image: 8 },
    labels: TWO(8),
  },
  {
    name: 'semicolons between the fields',
    files: {
      ...keys(...many(4, (n) => `scans/${n}.dcm`)),
      'diagnosis.csv': csv(
        'patient;file;diagnosis',
        many(4, (n) => `p${n};${n}.dcm;${labelOf(n)}`),
      ),
    },
    init: {
      label: 'annotations',
      annotations: { file: 'diagnosis.csv', key: 'file', label: 'diagnosis', folder: 'scans/' },
    },
    samples: 4,
    columns: { dcm: 4 },
    labels: TWO(4),
  },
  {
    name: 'tabs between the fields',
    files: {
      ...keys(...many(4, (n) => `clips/${n}.mp3`)),
      'validated.tsv': csv(
        'path\tclass',
        many(4, (n) => `${n}.mp3\t${labelOf(n)}`),
      ),
    },
    init: {
      label: 'annotations',
      annotations: { file: 'validated.tsv', key: 'path', label: 'class', folder: 'clips/' },
    },
    samples: 4,
    columns: { mp3: 4 },
    labels: TWO(4),
  },
  {
    name: 'metadata.jsonl of Hugging Face, with a split',
    files: {
      ...keys(...many(4, (n) => `train/${n}.png`), ...many(2, (n) => `test/${n + 4}.png`)),
      'metadata.jsonl': `${[...many(4, (n) => `train/${n}.png`), 'test/4.png', 'test/5.png']
        .map((key, n) => JSON.stringify({ file_name: key, label: labelOf(n) }))
        .join('\n')}\n`,
    },
    init: {
      split: { by: 'folder', train: ['train'], test: ['test'] },
      label: 'annotations',
      annotations: { file: 'metadata.jsonl', key: 'file_name', label: 'label' },
    },
    samples: 6,
    columns: { image: 6 },
    labels: TWO(6),
    splits: { train: 4, test: 2 },
  },
  {
    name: 'a manifest whose keys are URIs',
    files: {
      ...keys(...many(4, (n) => `pictures/${n}.jpg`)),
      'train.manifest': many(4, (n) =>
        JSON.stringify({ 'source-ref': `s3://my-bucket/raw/pictures/${n}.jpg`, class: n % 2 }),
      ).join('\n'),
    },
    init: {
      label: 'annotations',
      annotations: {
        file: 'train.manifest',
        key: 'source-ref',
        label: 'class',
        prefix: 's3://my-bucket/raw/',
      },
    },
    samples: 4,
    columns: { image: 4 },
    labels: { 0: 2, 1: 2 },
  },
  {
    name: 'captions in a table',
    files: {
      ...keys(...many(3, (n) => `${n}.png`)),
      'metadata.csv': csv(
        'file_name,text',
        many(3, (n) => `${n}.png,a picture of number ${n}`),
      ),
    },
    init: PLAIN,
    samples: 3,
    columns: { image: 3 },
    said: [/"metadata\.csv" names files in "file_name", but no column looks like a class/],
  },
  {
    name: 'boxes in a document of COCO',
    files: {
      ...keys(...many(4, (n) => `train2017/${n}.jpg`), 'val2017/9.jpg'),
      'annotations/instances_train2017.json': '{"images": [], "annotations": []}',
    },
    init: { split: { by: 'folder', train: ['train2017'], validation: ['val2017'] }, ...PLAIN },
    samples: 5,
    columns: { image: 5 },
    splits: { train: 4, validation: 1 },
    said: [/"annotations\/instances_train2017\.json" is about many files/],
  },
];

const NAMES: readonly Layout[] = [
  {
    name: 'names with dots',
    files: keys(
      'login/paypal.com.png',
      'login/amazon.co.uk.png',
      'other/en.wikipedia.org.png',
      'other/bing.com.png',
    ),
    init: LABELLED,
    samples: 4,
    columns: { image: 4 },
    labels: { login: 2, other: 2 },
    said: [/"named":\{"objects":4,"example":"login\/amazon\.co\.uk\.png"\}/],
  },
  {
    name: 'blanks, brackets and emoji',
    files: keys('Katze (1).jpg', 'a [b] {c}.jpg', '🐈 & 🐕.jpg', "o'hara, j.jpg"),
    init: PLAIN,
    samples: 4,
    columns: { image: 4 },
  },
  {
    name: 'one name in two Unicode forms',
    files: keys('Ba\u0308r/1.jpg', 'B\u00e4r/2.jpg', 'Luchs/1.jpg'),
    init: LABELLED,
    samples: 3,
    columns: { image: 3 },
    labels: { 'Ba\u0308r': 1, 'B\u00e4r': 1, Luchs: 1 },
  },
  {
    name: 'upper-case suffixes',
    files: keys('IMG_1.JPG', 'IMG_2.JPEG', 'IMG_3.jpg'),
    init: PLAIN,
    samples: 3,
    columns: { image: 3 },
  },
  {
    name: 'no suffix',
    files: keys(...many(4, (n) => `a/record${n}`), 'b/record9'),
    init: LABELLED,
    samples: 5,
    columns: { bin: 5 },
    labels: { a: 4, b: 1 },
  },
  {
    name: 'a README, a Thumbs.db and a .git beside data',
    files: keys('README.md', 'cat/1.jpg', 'cat/Thumbs.db', 'dog/1.jpg', '.git/config', '.DS_Store'),
    init: LABELLED,
    samples: 2,
    columns: { image: 2 },
    labels: { cat: 1, dog: 1 },
    said: [/1 of 3 files are left out \(suffixNotAccepted\), such as "README\.md"/],
  },
  {
    name: 'archives of class folders',
    files: { 'train.zip': 'cat/1.jpg cat/2.jpg dog/1.jpg', 'val.tgz': 'cat/3.jpg dog/4.jpg' },
    init: {
      archives: 'unpack',
      split: { by: 'folder', train: ['train'], validation: ['val'] },
      ...LABELLED,
    },
    samples: 5,
    columns: { image: 5 },
    labels: { cat: 3, dog: 2 },
    splits: { train: 3, validation: 2 },
    said: [/2 archives are unpacked, such as "train\.zip", so there are 5 files/],
  },
  {
    name: 'archives of another kind',
    files: keys('train.7z', 'val.7z'),
    init: { split: { by: 'folder', train: ['train.7z'], validation: ['val.7z'] }, ...PLAIN },
    samples: 2,
    columns: { '7z': 2 },
    splits: { train: 1, validation: 1 },
    said: [/2 archives, such as "train\.7z", would each be one sample: unpack them/],
  },
];

const KINDS: readonly Layout[] = [
  {
    name: 'medical volumes',
    files: keys('ct/p1.nii.gz', 'ct/p2.nii.gz', 'mr/p1.nii.gz', 'mr/p3.mha'),
    init: LABELLED,
    samples: 4,
    columns: { nii_gz: 3, mha: 1 },
    labels: { ct: 2, mr: 2 },
  },
  {
    name: 'satellite tiles of bands',
    files: keys(...many(2, (n) => `forest/t${n}_B02.tif`), ...many(2, (n) => `water/t${n}_B02.tif`)),
    init: LABELLED,
    samples: 4,
    columns: { tif: 4 },
    labels: { forest: 2, water: 2 },
  },
  {
    name: 'point clouds',
    files: keys('chair/a.ply', 'chair/b.las', 'lamp/c.pcd', 'lamp/d.off'),
    init: LABELLED,
    samples: 4,
    columns: { ply: 1, las: 1, pcd: 1, off: 1 },
    labels: { chair: 2, lamp: 2 },
  },
  {
    name: 'sounds of speakers',
    files: keys('yes/0a7c_nohash_0.wav', 'yes/0a7c_nohash_1.wav', 'no/1b2c_nohash_0.ogg'),
    init: LABELLED,
    samples: 3,
    columns: { wav: 2, ogg: 1 },
    labels: { yes: 2, no: 1 },
  },
  {
    name: 'clips of actions',
    files: keys('jump/v1.mp4', 'jump/v2.avi', 'run/v3.mkv'),
    init: LABELLED,
    samples: 3,
    columns: { mp4: 1, avi: 1, mkv: 1 },
    labels: { jump: 2, run: 1 },
  },
  {
    name: 'JSON Lines with a file to evaluate',
    files: {
      'train.jsonl': '{"text": "a"}\n{"text": "b"}\n',
      'eval.jsonl': '{"text": "c"}\n',
    },
    init: { split: { by: 'folder', train: ['train.jsonl'], validation: ['eval.jsonl'] }, ...PLAIN },
    declared: { format: 'lines', lines: { kind: 'jsonl', header: 'none' } },
    samples: 2,
    columns: {},
    splits: { train: 1, validation: 1 },
  },
  {
    name: 'one CSV',
    files: { 'prices.csv': csv('rooms,price', ['3,100', '4,120']) },
    init: PLAIN,
    declared: { format: 'lines', lines: { kind: 'csv', header: 'perShard' } },
    samples: 1,
    columns: {},
  },
  {
    name: 'CSVs with differing headers',
    files: { 'a.csv': csv('rooms,price', ['3,100']), 'b.csv': csv('price,rooms', ['90,2']) },
    init: PLAIN,
    declared: { format: 'lines', lines: { kind: 'csv', header: 'perShard' } },
    samples: 1,
    columns: {},
    said: [/headerDiffers/],
  },
  {
    name: 'empty files',
    files: { 'cat/1.json': '{}', 'cat/2.json': '', 'dog/1.json': '{}' },
    init: LABELLED,
    declared: { require: [] },
    samples: 3,
    columns: { json: 3 },
    labels: { cat: 2, dog: 1 },
    said: [/1 files are empty, such as "cat\/2\.json"/],
  },
];

/** As large public data sets have it. */
const NAMED: readonly Layout[] = [
  {
    name: 'a part inside the names of folders, with dots in classes',
    files: keys(
      ...['alt.atheism', 'comp.os.ms-windows.misc'].flatMap((name) => [
        ...many(3, (n) => `20news-bydate-train/${name}/4996${n}`),
        ...many(2, (n) => `20news-bydate-test/${name}/5996${n}`),
      ]),
    ),
    init: {
      split: { by: 'folder', train: ['20news-bydate-train'], test: ['20news-bydate-test'] },
      ...LABELLED,
    },
    samples: 10,
    columns: { bin: 10 },
    labels: { 'alt.atheism': 5, 'comp.os.ms-windows.misc': 5 },
    splits: { train: 6, test: 4 },
  },
  {
    name: 'trainA, trainB and testA',
    files: keys(
      ...many(3, (n) => `trainA/${n}.jpg`),
      ...many(3, (n) => `trainB/${n}.jpg`),
      'testA/7.jpg',
      'testB/8.jpg',
    ),
    init: { split: { by: 'folder', train: ['trainA', 'trainB'], test: ['testA', 'testB'] }, ...PLAIN },
    samples: 8,
    columns: { image: 8 },
    splits: { train: 6, test: 2 },
  },
  {
    name: 'a part inside the names of files',
    files: keys('X_train.npy', 'y_train.npy', 'X_test.npy', 'y_test.npy'),
    init: {
      split: { by: 'folder', train: ['X_train.npy', 'y_train.npy'], test: ['X_test.npy', 'y_test.npy'] },
      ...PLAIN,
    },
    samples: 4,
    columns: { npy: 4 },
    splits: { train: 2, test: 2 },
  },
  {
    name: 'lists for all parts but training',
    files: {
      ...keys(...['yes', 'no'].flatMap((name) => many(4, (n) => `${name}/a${n}_nohash_0.wav`))),
      'validation_list.txt': 'yes/a0_nohash_0.wav\nno/a0_nohash_0.wav\n',
      'testing_list.txt': 'yes/a1_nohash_0.wav\n',
    },
    init: {
      split: { by: 'list', validation: ['validation_list.txt'], test: ['testing_list.txt'] },
      ...LABELLED,
    },
    samples: 8,
    columns: { wav: 8 },
    labels: { yes: 4, no: 4 },
    splits: { train: 5, validation: 2, test: 1 },
  },
  {
    name: 'one part without class folders',
    files: keys(
      ...['n01440764', 'n01443537'].flatMap((name) => many(3, (n) => `train/${name}/${name}_${n}.JPEG`)),
      ...many(2, (n) => `val/ILSVRC2012_val_${four(n)}.JPEG`),
    ),
    init: { split: { by: 'folder', train: ['train'], validation: ['val'] }, ...LABELLED },
    samples: 8,
    columns: { image: 8 },
    labels: { n01440764: 3, n01443537: 3 },
    splits: { train: 6, validation: 2 },
    said: [/2 samples have none, such as "val\/ILSVRC2012_val_0000\.JPEG"/],
  },
  {
    name: 'reviews beside their vocabulary',
    files: keys(
      ...['pos', 'neg'].flatMap((name) => [
        ...many(3, (n) => `aclImdb/train/${name}/${n}_9.txt`),
        ...many(2, (n) => `aclImdb/test/${name}/${n}_9.txt`),
      ]),
      'aclImdb/imdb.vocab',
    ),
    init: { split: { by: 'folder', train: ['train'], test: ['test'] }, ...LABELLED },
    samples: 10,
    columns: { txt: 10 },
    labels: { pos: 5, neg: 5 },
    splits: { train: 6, test: 4 },
    said: [/1 of 11 files are left out \(suffixNotAccepted\), such as "aclImdb\/imdb\.vocab"/],
  },
  {
    name: 'speech and its words in folders of other names',
    files: keys(
      ...many(3, (n) => `wav48/p225/p225_00${n}.wav`),
      ...many(3, (n) => `txt/p225/p225_00${n}.txt`),
      'wav48/p226/p226_001.wav',
      'txt/p226/p226_001.txt',
    ),
    init: { join: { wav: 'wav48/*', txt: 'txt/*' }, require: ['wav', 'txt'], ...PLAIN },
    samples: 4,
    columns: { wav: 4, txt: 4 },
  },
  {
    name: 'inputs and answers in x and y',
    files: keys(...many(3, (n) => `x/${n}.npy`), ...many(3, (n) => `y/${n}.npy`)),
    init: { join: { image: 'x/*', mask: 'y/*' }, require: ['image_npy', 'mask_npy'], ...PLAIN },
    samples: 3,
    columns: { image_npy: 3, mask_npy: 3 },
  },
  {
    name: 'a folder for each patient, named in its files',
    files: keys(
      ...[0, 1, 2].flatMap((n) =>
        ['flair', 't1', 'seg'].map((scan) => `BraTS_${n}/BraTS_${n}_${scan}.nii.gz`),
      ),
    ),
    init: {
      join: { flair: '*_flair', t1: '*_t1', seg: '*_seg' },
      require: ['flair_nii_gz', 't1_nii_gz', 'seg_nii_gz'],
      ...PLAIN,
    },
    samples: 3,
    columns: { flair_nii_gz: 3, t1_nii_gz: 3, seg_nii_gz: 3 },
  },
  {
    name: 'a folder for each case, with the same names',
    files: keys(
      ...[0, 1, 2, 3].flatMap((n) => [`case_${n}/imaging.nii.gz`, `case_${n}/segmentation.nii.gz`]),
      'kits.json',
    ),
    init: {
      join: { imaging: '*/imaging', segmentation: '*/segmentation' },
      require: ['imaging_nii_gz', 'segmentation_nii_gz'],
      ...PLAIN,
    },
    samples: 4,
    columns: { imaging_nii_gz: 4, segmentation_nii_gz: 4 },
  },
  {
    name: 'boxes in a table, with a target',
    files: {
      ...keys(...many(3, (n) => `scans/p${n}.dcm`)),
      'labels.csv': csv('patientId,x,y,width,Target', ['p0,1,2,3,1', 'p0,5,6,7,1', 'p1,,,,0', 'p2,,,,0']),
    },
    init: {
      label: 'annotations',
      annotations: { file: 'labels.csv', key: 'patientId', label: 'Target', folder: 'scans/' },
    },
    samples: 3,
    columns: { dcm: 3 },
    labels: { '0': 2, '1': 1 },
  },
  {
    name: 'a table about folders',
    files: {
      ...keys(...['v1', 'v2', 'v3', 'v4'].flatMap((name) => many(3, (n) => `${name}/frame_${four(n)}.jpg`))),
      'labels.csv': csv('video,label', ['v1,run', 'v2,walk', 'v3,run', 'v4,run']),
    },
    init: PLAIN,
    samples: 12,
    columns: { image: 12 },
    said: [/names folders in "video", and labels are matched to files/],
  },
  {
    name: 'tables for parts',
    files: {
      ...keys(...many(20, (n) => `clips/clip_${n}.mp3`)),
      'train.tsv': 'client\tpath\tsentence\na\tclip_0.mp3\tHi\nb\tclip_1.mp3\tYo\n',
      'dev.tsv': 'client\tpath\tsentence\na\tclip_2.mp3\tHi\n',
    },
    init: PLAIN,
    samples: 20,
    columns: { mp3: 20 },
    said: [/"train\.tsv", "dev\.tsv" seem to be tables of parts/],
  },
  {
    name: 'NORMAL and PNEUMONIA are classes',
    files: keys(
      ...['train', 'test'].flatMap((part) =>
        ['NORMAL', 'PNEUMONIA'].flatMap((name) => many(3, (n) => `chest_xray/${part}/${name}/IM-${n}.jpeg`)),
      ),
    ),
    init: { split: { by: 'folder', train: ['train'], test: ['test'] }, ...LABELLED },
    samples: 12,
    columns: { image: 12 },
    labels: { NORMAL: 6, PNEUMONIA: 6 },
    splits: { train: 6, test: 6 },
  },
  {
    name: 'folders of a part twice, and predictions',
    files: keys(
      ...['forest', 'sea'].flatMap((name) => [
        ...many(3, (n) => `seg_train/seg_train/${name}/${n}.jpg`),
        ...many(2, (n) => `seg_test/seg_test/${name}/2${n}.jpg`),
      ]),
      ...many(2, (n) => `seg_pred/seg_pred/${n}.jpg`),
    ),
    init: { split: { by: 'folder', train: ['seg_train'], test: ['seg_test'] }, ...LABELLED },
    samples: 10,
    columns: { image: 10 },
    labels: { forest: 5, sea: 5 },
    splits: { train: 6, test: 4 },
    said: [/2 of 12 files are left out \(groupMissing\), such as "seg_pred\/seg_pred\/0\.jpg"/],
  },
  {
    name: 'classes below ways to show a picture',
    files: keys(
      ...['color', 'grayscale'].flatMap((way) =>
        ['Apple___scab', 'Corn___rust'].flatMap((name) => many(3, (n) => `${way}/${name}/${n}.JPG`)),
      ),
    ),
    init: LABELLED,
    samples: 12,
    columns: { image: 12 },
    labels: { Apple___scab: 6, Corn___rust: 6 },
  },
  {
    name: 'two cameras and their disparity',
    files: keys(...['left', 'right', 'disparity'].flatMap((name) => many(4, (n) => `${name}/${n}.png`))),
    init: {
      join: { image: 'left/*', right: 'right/*', mask: 'disparity/*' },
      require: ['image', 'right', 'mask'],
      ...PLAIN,
    },
    samples: 4,
    columns: { image: 4, right: 4, mask: 4 },
  },
  {
    name: 'folders of actors, or of days',
    files: keys(...many(4, (actor) => `Actor_0${actor}/03-01-0${actor}.wav`), '2024-01-02/1.wav'),
    init: PLAIN,
    samples: 5,
    columns: { wav: 5 },
  },
  {
    name: 'class folders beside a stray file',
    files: keys(...['cat', 'dog'].flatMap((name) => many(6, (n) => `${name}/${n}.jpg`)), 'preview.jpg'),
    init: LABELLED,
    samples: 13,
    columns: { image: 13 },
    labels: { cat: 6, dog: 6 },
    said: [/1 samples have none, such as "preview\.jpg"/],
  },
  {
    name: 'tables in class folders',
    files: keys(...['run', 'walk'].flatMap((name) => many(3, (n) => `${name}/s${n}.csv`))),
    init: LABELLED,
    samples: 6,
    columns: { csv: 6 },
    labels: { run: 3, walk: 3 },
  },
  {
    name: 'a part in each name',
    files: keys(...many(60, (n) => `ADE_train_${four(n)}.jpg`), ...many(30, (n) => `ADE_val_${four(n)}.jpg`)),
    init: PLAIN,
    samples: 90,
    columns: { image: 90 },
    said: [/names say a part, such as "ADE_train_0000\.jpg", and all files would train/],
  },
  {
    name: 'a part in a column',
    files: {
      ...keys(...['run', 'walk'].flatMap((name) => many(4, (n) => `${name}/${name}_v${n}.mp4`))),
      'split.csv': csv('file,split', [
        'run/run_v0.mp4,train',
        'walk/walk_v0.mp4,val',
        'run/run_v1.mp4,train',
      ]),
    },
    init: LABELLED,
    samples: 8,
    columns: { mp4: 8 },
    labels: { run: 4, walk: 4 },
    said: [/"split\.csv" gives parts in "split", and all files would train/],
  },
  {
    name: 'a table about classes',
    files: {
      ...keys(...['cat', 'dog', 'parrot'].flatMap((name) => many(4, (n) => `${name}/${name}_${n}.jpg`))),
      'classes.csv': csv('name,group', ['cat,mammal', 'dog,mammal', 'parrot,bird']),
    },
    init: LABELLED,
    samples: 12,
    columns: { image: 12 },
    labels: { cat: 4, dog: 4, parrot: 4 },
  },
  {
    name: 'persons and none, with equal names in each class',
    files: keys(
      ...['person', 'no_person', 'crowd_person'].flatMap((name) =>
        ['alice', 'bob', 'carol', 'dave'].map((one) => `${name}/${one}.jpg`),
      ),
    ),
    init: LABELLED,
    samples: 12,
    columns: { image: 12 },
    labels: { person: 4, no_person: 4, crowd_person: 4 },
  },
  {
    name: 'a class that is called train',
    files: {
      ...keys(...many(6, (n) => `images/${n}.jpg`)),
      'labels.csv': csv(
        'file,label',
        many(6, (n) => `${n}.jpg,${['car', 'train', 'bus'][n % 3]}`),
      ),
    },
    init: {
      label: 'annotations',
      annotations: { file: 'labels.csv', key: 'file', label: 'label', folder: 'images/' },
    },
    samples: 6,
    columns: { image: 6 },
    labels: { car: 2, train: 2, bus: 2 },
  },
  {
    name: 'captions in a text file',
    files: {
      ...keys(...many(6, (n) => `Images/${n}.jpg`)),
      'captions.txt': csv(
        'image,caption',
        many(6, (n) => `${n}.jpg,A dog .`),
      ),
    },
    init: PLAIN,
    samples: 6,
    columns: { image: 6 },
    said: [/"captions\.txt" names files, and only \.csv, \.tsv and \.jsonl are read as tables/],
  },
];

export const LAYOUTS: readonly Layout[] = [
  ...CLASSES,
  ...SPLITS,
  ...PAIRS,
  ...PUBLIC,
  ...TABLES,
  ...NAMES,
  ...KINDS,
  ...NAMED,
];
