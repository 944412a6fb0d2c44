/** The texts of mails in Arabic. */

import type { Texts } from './en.ts';

export const ar: Texts = {
  cardTitle: 'بطاقة هدية',
  valueLabel: 'القيمة',
  balanceLabel: 'الرصيد المتبقي',
  codeLabel: 'رمز بطاقة الهدية',
  qrAlt: 'رمز الاستجابة السريعة لبطاقة الهدية',
  codeHint: 'يُرجى إدخال هذا الرمز عند إتمام الشراء أو إبرازه عند الدفع.',
  codeIsMoney: 'يُرجى الاحتفاظ بهذه الرسالة في مكان آمن، إذ يمكن لأي شخص لديه الرمز استخدام البطاقة.',
  expiryLabel: 'صالحة حتى',
  endingLabel: 'آخر أربعة أحرف من الرمز',
  recipientLabel: 'المستلم',
  issuedLabel: 'التاريخ',
  sendOnLabel: 'تاريخ الإرسال',
  orderLabel: 'رقم الطلب',
  messageLabel: 'الرسالة',
  openCard: 'عرض بطاقة الهدية',
  checkBalance: 'الاستعلام عن الرصيد',
  findCode: 'يوجد الرمز في رسالة البريد الإلكتروني التي وصلتكم معها بطاقة الهدية.',
  contact: 'للاستفسار يمكنكم مراسلتنا على {address}.',
  automatic: 'أُرسلت هذه الرسالة تلقائيًا نيابةً عن {store}.',
  unsubscribe: 'إلغاء الاشتراك في رسائل التذكير',

  giftCardSubject: 'بطاقة هدية لكم من {store}',
  giftCardPreheader: 'وصلتكم بطاقة هدية بقيمة {amount}.',
  giftCardHeading: 'بطاقة هدية لكم',
  giftCardIntro: 'وصلتكم بطاقة هدية يمكنكم استخدامها لدى {store}.',

  receiptSubject: 'إيصال شراء بطاقة هدية من {store}',
  receiptPreheader: 'شكرًا لشرائكم بطاقة هدية بقيمة {amount}.',
  receiptHeading: 'شكرًا لشرائكم',
  receiptIntro: 'فيما يلي تفاصيل بطاقة الهدية التي اشتريتموها من {store}.',
  receiptNoCode: 'حرصًا على الأمان لا يتضمن هذا الإيصال الرمز، بل يُرسل في رسالة منفصلة.',

  expirySubject: 'بطاقة الهدية من {store} تنتهي صلاحيتها قريبًا',
  expiryPreheader: 'يمكنكم استخدام {amount} حتى {date}.',
  expiryHeading: 'تنتهي صلاحية بطاقة الهدية قريبًا',
  expiryIntro: 'يمكنكم استخدام بطاقة الهدية من {store} حتى {date}.',

  balanceSubject: 'لديكم رصيد في بطاقة الهدية من {store}',
  balancePreheader: 'ما زال بإمكانكم استخدام {amount}.',
  balanceHeading: 'ما زال في بطاقة الهدية رصيد',
  balanceIntro: 'في بطاقة الهدية من {store} رصيد ما زال بإمكانكم استخدامه.',

  failedSubject: 'تعذّر تسليم بطاقة الهدية',
  failedPreheader: 'لم تصل الرسالة التي تتضمن بطاقة الهدية إلى المستلم.',
  failedHeading: 'تعذّر علينا تسليم بطاقة الهدية',
  failedIntro: 'تعذّر تسليم الرسالة التي تتضمن بطاقة الهدية إلى {address}.',
  failedSafe: 'ما زالت بطاقة الهدية محتفظة بكامل قيمتها.',
  failedNext: 'يُرجى التحقق من العنوان والتواصل معنا كي نتمكن من إرسالها مجددًا.',

  sampleMessage: 'عيد ميلاد سعيد!\nأتمنى أن تجدوا شيئًا جميلًا. استمتعوا بالاختيار، وسلامي إلى الجميع.',
};
