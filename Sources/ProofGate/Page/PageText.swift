// SPDX-License-Identifier: Apache-2.0

/// A text of the page.
enum PageText: String, Sendable, CaseIterable {
  case title, checking, slide, slider, at, submit, again, without, working,
    cancel, done, wrong, failed, expired, busy, network, retry, ending,
    more, picture, noscript, proceed, reading, read, cancelled, cookies

  /// The text in a language. None has a character that markup reads.
  func text(in language: PageLanguage) -> String {
    let texts: [PageText: String] =
      switch language {
      case .english: Self.english
      case .chinese: Self.chinese
      case .german: Self.german
      case .french: Self.french
      case .spanish: Self.spanish
      case .arabic: Self.arabic
      }
    return texts[self] ?? ""
  }
}

extension PageText {
  private static let english: [PageText: String] = [
    .title: "Security check",
    .checking: "Checking your browser. This takes a few seconds.",
    .slide: "Move the slider until the piece fills the gap.",
    .slider: "Position of the piece",
    .at: "{0} of {1}",
    .submit: "Check",
    .again: "New picture",
    .without: "Continue without a picture",
    .working: "Your device is computing. This takes up to a minute. You need not do anything.",
    .cancel: "Cancel",
    .done: "Done. You can close this page.",
    .wrong: "The piece did not fill the gap.",
    .failed: "The check failed. Go back and try again later.",
    .expired: "The time is over. Go back and try again.",
    .busy: "There were too many tries. Try again in an hour.",
    .network: "The connection failed.",
    .retry: "Try again",
    .ending: "The time ends in two minutes. A new picture gives you ten more.",
    .more: "More time, with a new picture",
    .picture: "Picture with a gap. If you cannot see it, continue without a picture.",
    .noscript: "JavaScript is off in your browser.",
    .proceed: "Continue without JavaScript",
    .reading: "Number at the middle of the gap:",
    .read: "Read the scale below the picture.",
    .cancelled: "Cancelled.",
    .cookies:
      "Your browser keeps no cookies. Allow them for this site, then load this page again.",
  ]
}

extension PageText {
  private static let chinese: [PageText: String] = [
    .title: "安全验证",
    .checking: "正在检查您的浏览器，需要几秒钟。",
    .slide: "拖动滑块，使拼图填满缺口。",
    .slider: "拼图位置",
    .at: "{0}，共 {1}",
    .submit: "验证",
    .again: "换一张图片",
    .without: "不使用图片继续",
    .working: "您的设备正在计算，最多需要一分钟，您无需操作。",
    .cancel: "取消",
    .done: "已完成。您可以关闭此页面。",
    .wrong: "拼图没有填满缺口。",
    .failed: "验证失败。请返回，稍后再试。",
    .expired: "时间已到。请返回重试。",
    .busy: "尝试次数过多。请一小时后再试。",
    .network: "连接失败。",
    .retry: "重试",
    .ending: "两分钟后超时。更换图片可再获得十分钟。",
    .more: "更换图片并延长时间",
    .picture: "带缺口的图片。如果您看不到图片，请选择不使用图片继续。",
    .noscript: "您的浏览器已关闭 JavaScript。",
    .proceed: "不使用 JavaScript 继续",
    .reading: "缺口中间对应的数字：",
    .read: "请看图片下方的刻度。",
    .cancelled: "已取消。",
    .cookies: "您的浏览器未启用 Cookie。请允许此网站使用 Cookie，然后重新加载此页面。",
  ]
}

extension PageText {
  private static let german: [PageText: String] = [
    .title: "Sicherheitsprüfung",
    .checking: "Ihr Browser wird geprüft. Das dauert einige Sekunden.",
    .slide: "Schieben Sie den Regler, bis das Teil die Lücke füllt.",
    .slider: "Position des Teils",
    .at: "{0} von {1}",
    .submit: "Prüfen",
    .again: "Neues Bild",
    .without: "Ohne Bild fortfahren",
    .working: "Ihr Gerät rechnet. Das dauert bis zu einer Minute. Sie müssen nichts tun.",
    .cancel: "Abbrechen",
    .done: "Fertig. Sie können diese Seite schließen.",
    .wrong: "Das Teil hat die Lücke nicht gefüllt.",
    .failed:
      "Die Prüfung ist fehlgeschlagen. Gehen Sie zurück und versuchen Sie es später noch einmal.",
    .expired: "Die Zeit ist abgelaufen. Gehen Sie zurück und versuchen Sie es noch einmal.",
    .busy: "Es waren zu viele Versuche. Versuchen Sie es in einer Stunde noch einmal.",
    .network: "Die Verbindung ist fehlgeschlagen.",
    .retry: "Noch einmal",
    .ending: "Die Zeit endet in zwei Minuten. Ein neues Bild gibt Ihnen zehn weitere.",
    .more: "Mehr Zeit, mit einem neuen Bild",
    .picture: "Bild mit einer Lücke. Wenn Sie es nicht sehen können, fahren Sie ohne Bild fort.",
    .noscript: "JavaScript ist in Ihrem Browser ausgeschaltet.",
    .proceed: "Ohne JavaScript fortfahren",
    .reading: "Zahl in der Mitte der Lücke:",
    .read: "Lesen Sie die Skala unter dem Bild ab.",
    .cancelled: "Abgebrochen.",
    .cookies:
      "Ihr Browser speichert keine Cookies. Erlauben Sie sie für diese Website und laden Sie die Seite neu.",
  ]
}

extension PageText {
  private static let french: [PageText: String] = [
    .title: "Contrôle de sécurité",
    .checking: "Vérification de votre navigateur. Cela prend quelques secondes.",
    .slide: "Déplacez le curseur jusqu’à ce que la pièce remplisse le vide.",
    .slider: "Position de la pièce",
    .at: "{0} sur {1}",
    .submit: "Valider",
    .again: "Nouvelle image",
    .without: "Continuer sans image",
    .working: "Votre appareil calcule. Cela prend jusqu’à une minute. Vous n’avez rien à faire.",
    .cancel: "Annuler",
    .done: "Terminé. Vous pouvez fermer cette page.",
    .wrong: "La pièce n’a pas rempli le vide.",
    .failed: "Le contrôle a échoué. Revenez en arrière et réessayez plus tard.",
    .expired: "Le temps est écoulé. Revenez en arrière et réessayez.",
    .busy: "Il y a eu trop d’essais. Réessayez dans une heure.",
    .network: "La connexion a échoué.",
    .retry: "Réessayer",
    .ending: "Le temps se termine dans deux minutes. Une nouvelle image vous en donne dix de plus.",
    .more: "Plus de temps, avec une nouvelle image",
    .picture: "Image avec un vide. Si vous ne pouvez pas la voir, continuez sans image.",
    .noscript: "JavaScript est désactivé dans votre navigateur.",
    .proceed: "Continuer sans JavaScript",
    .reading: "Nombre au milieu du vide :",
    .read: "Lisez l’échelle sous l’image.",
    .cancelled: "Annulé.",
    .cookies:
      "Votre navigateur refuse les cookies. Autorisez-les pour ce site, puis rechargez cette page.",
  ]
}

extension PageText {
  private static let spanish: [PageText: String] = [
    .title: "Control de seguridad",
    .checking: "Comprobando su navegador. Tarda unos segundos.",
    .slide: "Mueva el control hasta que la pieza llene el hueco.",
    .slider: "Posición de la pieza",
    .at: "{0} de {1}",
    .submit: "Comprobar",
    .again: "Otra imagen",
    .without: "Continuar sin imagen",
    .working: "Su dispositivo está calculando. Tarda hasta un minuto. No tiene que hacer nada.",
    .cancel: "Cancelar",
    .done: "Listo. Puede cerrar esta página.",
    .wrong: "La pieza no llenó el hueco.",
    .failed: "La comprobación ha fallado. Vuelva atrás e inténtelo más tarde.",
    .expired: "El tiempo ha terminado. Vuelva atrás e inténtelo de nuevo.",
    .busy: "Hubo demasiados intentos. Inténtelo dentro de una hora.",
    .network: "La conexión ha fallado.",
    .retry: "Intentar de nuevo",
    .ending: "El tiempo termina en dos minutos. Otra imagen le da diez más.",
    .more: "Más tiempo, con otra imagen",
    .picture: "Imagen con un hueco. Si no puede verla, continúe sin imagen.",
    .noscript: "JavaScript está desactivado en su navegador.",
    .proceed: "Continuar sin JavaScript",
    .reading: "Número en el centro del hueco:",
    .read: "Lea la escala debajo de la imagen.",
    .cancelled: "Cancelado.",
    .cookies:
      "Su navegador no guarda cookies. Permítalas para este sitio y vuelva a cargar esta página.",
  ]
}

extension PageText {
  private static let arabic: [PageText: String] = [
    .title: "التحقق الأمني",
    .checking: "جارٍ التحقق من متصفحك. يستغرق ذلك بضع ثوانٍ.",
    .slide: "حرّك شريط التمرير حتى تملأ القطعة الفراغ.",
    .slider: "موضع القطعة",
    .at: "{0} من {1}",
    .submit: "تحقّق",
    .again: "صورة جديدة",
    .without: "المتابعة بدون صورة",
    .working: "جهازك يقوم بالحساب. يستغرق ذلك دقيقة على الأكثر. لا يلزمك فعل أي شيء.",
    .cancel: "إلغاء",
    .done: "تم. يمكنك إغلاق هذه الصفحة.",
    .wrong: "لم تملأ القطعة الفراغ.",
    .failed: "فشل التحقق. ارجع وحاول مرة أخرى لاحقًا.",
    .expired: "انتهى الوقت. ارجع وحاول مرة أخرى.",
    .busy: "محاولات كثيرة جدًا. حاول مرة أخرى بعد ساعة.",
    .network: "فشل الاتصال.",
    .retry: "حاول مرة أخرى",
    .ending: "ينتهي الوقت بعد دقيقتين. تمنحك صورة جديدة عشر دقائق أخرى.",
    .more: "وقت إضافي مع صورة جديدة",
    .picture: "صورة فيها فراغ. إذا تعذّرت عليك رؤيتها فتابع بدون صورة.",
    .noscript: "جافا سكريبت معطّلة في متصفحك.",
    .proceed: "المتابعة بدون جافا سكريبت",
    .reading: "الرقم عند منتصف الفراغ:",
    .read: "اقرأ المقياس أسفل الصورة.",
    .cancelled: "أُلغي.",
    .cookies: "متصفحك لا يحفظ ملفات تعريف الارتباط. اسمح بها لهذا الموقع ثم أعد تحميل الصفحة.",
  ]
}
